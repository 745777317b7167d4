import { addPeriods } from '../../core/period.ts';
import { escapeMarkup } from '../../core/text/html-text.ts';
import { cutAtClause } from '../../core/text/words.ts';
import { ratesOfDays } from '../messages/daily-usage.ts';
import { dayBars, legendOf } from '../messages/day-bars.ts';
import type { Facts } from '../messages/facts/facts.ts';
import { grouped, monthName } from '../messages/facts/names.ts';
import type { Message, MessageKind } from '../messages/message.ts';
import { clip, tagOf } from './read-message.ts';

const SUBJECT_CHARACTERS = 120;

/** Most mail programs drop style sheets, so each element carries its own. Names of any length break to fit a phone. */
const MAIL_STYLES = {
  body: 'margin:0;padding:16px;max-width:600px;font:15px/1.5 sans-serif;background:#fff;color:#222;overflow-wrap:anywhere',
  title: 'margin:4px 0 8px;font-size:18px;line-height:1.35;font-weight:bold',
  line: 'margin:0 0 4px',
  list: 'margin:8px 0;padding-left:20px',
  acknowledge:
    'display:inline-block;margin:12px 8px 4px 0;padding:10px 16px;border-radius:6px;background:#0b57d0;color:#fff;text-decoration:none',
  open: 'display:inline-block;margin:12px 8px 4px 0;padding:9px 15px;border-radius:6px;border:1px solid #0b57d0;color:#0b57d0;text-decoration:none',
  foot: 'margin:16px 0 0;color:#5f6368;font-size:12px',
  command: 'font:12px monospace',
} as const;
const MAIL_COLOURS: Readonly<Record<MessageKind, string>> = {
  critical: '#b00020',
  warning: '#8f5300',
  closed: '#1b6e2c',
  summary: '#5f6368',
  test: '#5f6368',
};

/** Colours on a dark background, for mail programs that read style sheets. */
const DARK_STYLES = `:root{color-scheme:light dark}@media(prefers-color-scheme:dark){${[
  'body{background:#1b1c1f!important;color:#e3e3e3!important}',
  '.foot,.label,.summary,.test{color:#a8acb3!important;border-color:#a8acb3!important}',
  '.critical{color:#ff8a80!important;border-color:#ff8a80!important}',
  '.warning{color:#ffb74d!important;border-color:#ffb74d!important}',
  '.closed{color:#81c995!important;border-color:#81c995!important}',
  '.open{color:#8ab4f8!important;border-color:#8ab4f8!important}',
  '.now{background:#8ab4f8!important}',
].join('')}}`;

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

export function emailText(message: Message): EmailText {
  const { kind, alert, head, command, links } = message;
  const [title = '', ...lines] = [message.title, ...message.lines].map(withoutDomains);
  const items = message.items.map(withoutDomains);
  const tag = tagOf(message);
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
    html: [
      '<!doctype html>',
      '<html><head><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
      `<style>${DARK_STYLES}</style></head>`,
      `<body style="${MAIL_STYLES.body}">`,
      `<div class="${kind}" style="border-left:4px solid ${MAIL_COLOURS[kind]};padding-left:12px;color:${MAIL_COLOURS[kind]}">${tag}</div>`,
      `<h1 style="${MAIL_STYLES.title}">${html(title)}</h1>`,
      ...lines.map((line) => `<p style="${MAIL_STYLES.line}">${html(line)}</p>`),
      ...(items.length === 0
        ? []
        : [`<ul style="${MAIL_STYLES.list}">${items.map((item) => `<li>${html(item)}</li>`).join('\n')}</ul>`]),
      ...linkButtons(links),
      chartCells(alert) ?? '',
      `<p class="foot" style="${MAIL_STYLES.foot}">${foot.map((line) => (line === command ? `<code style="${MAIL_STYLES.command}">${html(line)}</code>` : html(line))).join('<br>')}</p>`,
      '</body></html>',
    ].join('\n'),
  };
}

function linkLines({ acknowledge, open }: Message['links']): string[] {
  return [
    ...(acknowledge === null ? [] : [`Acknowledge: ${acknowledge}`]),
    ...(open === null ? [] : [`Open alert: ${open}`]),
  ];
}

function linkButtons({ acknowledge, open }: Message['links']): string[] {
  return [
    ...(acknowledge === null
      ? []
      : [`<a style="${MAIL_STYLES.acknowledge}" href="${escapeMarkup(acknowledge)}">Acknowledge</a>`]),
    ...(open === null
      ? []
      : [`<a class="open" style="${MAIL_STYLES.open}" href="${escapeMarkup(open)}">Open alert</a>`]),
  ];
}

/** Draws both months as bars of characters; empty without daily usage. */
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

/** Isolates the writing direction of a name, so that it does not affect the text around it. */
function html(text: string): string {
  return `<bdi>${escapeMarkup(text)}</bdi>`;
}

const BAR_HEIGHT = 60;
const DAYS = 31;
const LABEL = 'font-size:12px;color:#5f6368;padding:8px 0 2px';
const CELL = 'padding:0 1px 0 0;vertical-align:bottom';

/**
 * Draws the credits of each day of both months as table cells, for mail programs that show no pictures. A month
 * without any known day is left out; null if both are. The cells contain only figures, so nothing needs to be escaped.
 */
export function chartCells(alert: Facts | null): string | null {
  const usage = alert?.evidence.daily_usage ?? null;
  if (alert === null || alert.period === null || usage === null) return null;
  const { period, created_at } = alert;
  const months = [
    {
      name: monthName(addPeriods(period, -1), created_at),
      rates: ratesOfDays(usage.days.previous),
      bar: 'before',
      colour: '#999',
    },
    { name: monthName(period, created_at), rates: ratesOfDays(usage.days.current), bar: 'now', colour: '#06c' },
  ].filter(({ rates }) => rates.some((rate) => rate !== null));
  const most = Math.max(...months.flatMap(({ rates }) => rates.map((rate) => rate ?? 0)), 0);
  if (most <= 0) return null;
  const rows = months.map(({ name, rates, bar: of, colour }, month) => {
    const cells = Array.from({ length: DAYS }, (_, day) => {
      const height = Math.round((Math.max(0, rates[day] ?? 0) / most) * BAR_HEIGHT);
      const bar =
        height === 0
          ? ''
          : `<div class="${of}" style="height:${height}px;background:${colour};font-size:0">&nbsp;</div>`;
      return `<td style="${CELL}" width="3%">${bar}</td>`;
    });
    const scale = month === months.length - 1 ? ` (the highest bar is ${grouped(Math.round(most))})` : '';
    const label = `${name}, credits a day${scale}`;
    return `<tr><td class="label" colspan="${DAYS}" style="${LABEL}">${label}</td></tr><tr style="height:${BAR_HEIGHT}px">${cells.join('')}</tr>`;
  });
  return `<table role="presentation" cellspacing="0" style="margin-top:12px;width:100%;border-collapse:collapse;table-layout:fixed">${rows.join('\n')}</table>`;
}
