import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { Fact } from './fact-list.ts';
import type { Facts } from './facts/facts.ts';

/** The words of a message: a title that stands alone, and at most three lines. They contain no markup. */
export interface MessageText {
  /** Who, what, how much; without a full stop. */
  title: string;
  /** Figures against the limit, causes, cost; each a line of whole sentences. */
  lines: string[];
}

/** The kind of a message, which channels show as a word and a colour. */
export type MessageKind = 'critical' | 'warning' | 'closed' | 'summary' | 'test';

/** A message before it has the form of a channel. Its texts are inert, whatever the names in them are. */
export interface Message extends MessageText {
  kind: MessageKind;
  /** The event of an alert that was sent before, as `grown`; null for others. */
  event: NotificationEvent | null;
  /** The page about the alert, and the page that acknowledges it; null without `http.public_url`. */
  links: { open: string | null; acknowledge: string | null };
  /** The command that shows or does more; null without one. */
  command: string | null;
  /** Details for receivers that keep them beside the message. */
  facts: Fact[];
  /** The alert with its daily usage, for a chart; null for several alerts. */
  alert: Facts | null;
  /** The alerts of a group or a daily summary, a line each. */
  items: string[];
  /** The head of the ledger's chain in a daily summary, for `verify --expect-head`; null for other messages. */
  head: string | null;
}

/** Joins a title and its lines to one text. */
export function inOneText({ title, lines }: MessageText): string {
  return [`${title}.`, ...lines].join(' ');
}

/** Joins the sentences of each line, without empty ones. */
export function linesOf(...lines: readonly (readonly string[])[]): string[] {
  return lines.map((sentences) => sentences.filter((each) => each !== '').join(' ')).filter((line) => line !== '');
}
