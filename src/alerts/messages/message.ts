import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { Fact } from './fact-list.ts';
import type { Facts } from './facts/facts.ts';

/** The text of a message: a title that is understood alone, and at most three lines. No markup. */
export interface MessageText {
  /** Who, what, how much; without a full stop. */
  title: string;
  /** Figures against the limit, causes, cost. Each line consists of whole sentences. */
  lines: string[];
}

/** The kind of a message, which channels show as a word and as a colour. */
export type MessageKind = 'critical' | 'warning' | 'closed' | 'summary' | 'test';

/** A message before it is formatted for a channel. All texts are inert, even if they contain names from outside. */
export interface Message extends MessageText {
  kind: MessageKind;
  /** The event if the alert was sent before, such as `grown`; null for other alerts. */
  event: NotificationEvent | null;
  /** Links to the page about the alert and to the page that acknowledges it; null without such a page. */
  links: { open: string | null; acknowledge: string | null };
  /** A command that shows more or solves the problem; null if there is none. */
  command: string | null;
  /** Details, for receivers that show them next to the message. */
  facts: Fact[];
  /** The alert with its daily usage, for a chart; null for a message about several alerts. */
  alert: Facts | null;
  /** The alerts of a group or a daily summary, one line each. */
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
