import { cutAtClause } from '../../core/text/words.ts';
import { dayBars, legendOf } from '../messages/day-bars.ts';
import { grouped } from '../messages/facts/names.ts';
import type { Message } from '../messages/message.ts';
import { emailHtml } from './email-html.tsx';
import { clip, messageTag } from './read-message.ts';

const SUBJECT_CHARACTERS = 120;

/** The text of an e-mail, as HTML and as plain text. */
export interface EmailText {
  subject: string;
  text: string;
  html: string;
}

/** Cuts a text to a number of characters, between clauses or words and never inside a figure. */
function clipWords(text: string, most: number): string {
  const clipped = clip(text, most);
  if (clipped === text) return text;
  const space = clipped.lastIndexOf(' ');
  return cutAtClause(clipped) ?? (space < 0 ? clipped : `${clipped.slice(0, space)} …`);
}

/** Writes a message as an e-mail. */
export function createEmailText(message: Message): EmailText {
  const { kind, alert, head, command, links } = message;
  const [title = '', ...lines] = [message.title, ...message.lines].map(withoutDomains);
  const items = message.items.map(withoutDomains);
  const tag = messageTag(message);
  const foot = [
    ...(command === null ? [] : [command]),
    `Sent by usage-ledger (${tag})`,
    ...(head === null ? [] : [head]),
  ];
  const parts = [
    [title, ...lines].join('\n'),
    items.join('\n'),
    linkLines(links).join('\n'),
    textChart(alert),
    `-- \n${foot.join('\n')}\n`,
  ];
  return {
    // Mail programs decode the text after `=?` as an encoded word, even inside a name.
    subject: clipWords(`[${tag}] ${title}`.replaceAll('=?', '= ?'), SUBJECT_CHARACTERS),
    text: parts.filter((part) => part !== '').join('\n\n'),
    html: emailHtml({ kind, tag, title, lines, items, links, alert, foot, command }),
  };
}

function linkLines({ acknowledge, open }: Message['links']): string[] {
  return [
    ...(acknowledge === null ? [] : [`Acknowledge: ${acknowledge}`]),
    ...(open === null ? [] : [`Open alert: ${open}`]),
  ];
}

/** Draws the daily credits of this month and the previous one as bars of characters; empty without daily usage. */
function textChart(alert: Message['alert']): string {
  const usage = alert?.evidence.daily_usage ?? null;
  if (alert === null || alert.period === null || usage === null) return '';
  const { rows: months, highest } = dayBars(alert.period, usage);
  if (highest <= 0) return '';
  const rows = months.filter(({ isKnown }) => isKnown);
  const bars = rows.map(({ period, bars }) => `${period}  ${bars}`);
  return [`Credits a day, up to ${grouped(Math.round(highest))}${legendOf(rows)}:`, ...bars].join('\n');
}

/** Breaks up bare domains, because mail programs turn them into links: a link in a tenant's name must not work. */
function withoutDomains(text: string): string {
  return text.replace(/(?<=[\p{L}\p{N}])\.(?=\p{L}{2})/gu, '[.]');
}
