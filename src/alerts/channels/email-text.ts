import { addPeriods } from '../../core/period.ts';
import { escapeMarkup } from '../../core/text/html-text.ts';
import { cutAtClause } from '../../core/text/words.ts';
import { ratesOfDays } from '../messages/daily-usage.ts';
import { dayBars } from '../messages/day-bars.ts';
import type { Facts } from '../messages/facts/facts.ts';
import { grouped, monthName } from '../messages/facts/names.ts';
import { clip, type GroupMember, MESSAGE_LINES, type MessageView, tailLine } from './message-view.ts';

const SUBJECT_CHARACTERS = 90;

/** Mail programs drop style sheets, so each element carries its own. Names of any length break to fit a phone. */
const STYLES = {
  body: 'margin:0;padding:16px;max-width:600px;font:14px/1.45 sans-serif;color:#222;overflow-wrap:anywhere',
  table: 'width:100%;border-collapse:collapse;font-size:14px',
  label: 'padding:4px 12px 4px 0;text-align:left;vertical-align:top;white-space:nowrap;font-weight:normal;color:#666',
  value: 'padding:4px 0;width:100%;vertical-align:top;overflow-wrap:anywhere',
  figure: 'padding:4px 0 4px 12px;text-align:right;vertical-align:top;white-space:nowrap',
  next: 'margin:0;padding:8px;background:#f4f4f4;font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere',
  foot: 'color:#666;font-size:12px',
} as const;
const COLOURS: Readonly<Record<string, string>> = { critical: '#b00020', warning: '#a65f00', resolved: '#1b6e2c' };

/** The text of an e-mail, as HTML and as plain text. */
export interface EmailText {
  subject: string;
  text: string;
  html: string;
}

/** Cuts a text to a number of characters, after a clause or between two words. A cut figure would be another figure. */
function clipWords(text: string, most: number): string {
  const clipped = clip(text, most);
  if (clipped === text) return text;
  const space = clipped.lastIndexOf(' ');
  return cutAtClause(clipped) ?? (space < 0 ? clipped : `${clipped.slice(0, space)} …`);
}

export function emailText(view: MessageView): EmailText {
  const { mark, next, alert, head } = view;
  const summary = withoutDomains(view.summary);
  const facts = view.facts.map(({ label, value }) => ({ label, value: withoutDomains(value) }));
  const all = view.lines.map(withoutDomains);
  const hidden = Math.max(0, all.length - MESSAGE_LINES);
  const shown = [...all.slice(0, MESSAGE_LINES), ...(hidden > 0 ? [tailLine(hidden)] : [])];
  const links = [
    ['Open the page of this alert', view.link],
    ['Acknowledge', view.acknowledgeLink],
  ].filter((each): each is [string, string] => each[1] !== null);
  const lines = [...facts.map(({ label, value }) => `${label}: ${value}`), ...shown];
  const items = shown.map((line) => `<li>${html(line)}</li>`);
  const chart = alert === null ? null : chartCells(alert);
  const rows = facts.map(
    ({ label, value }) =>
      `<tr><th style="${STYLES.label}">${html(label)}</th><td style="${STYLES.value}">${html(value)}</td></tr>`,
  );
  return {
    // Mail programs decode an encoded word after `=?`, even inside a name.
    subject: clipWords(`[${mark}] ${summary}`.replaceAll('=?', '= ?'), SUBJECT_CHARACTERS),
    text: `${[summary, lines.join('\n'), ...links.map(([title, url]) => `${title}: ${url}`), ...textChart(alert), ...nextText(next)].join('\n\n')}\n\n-- \nSent by usage-ledger\n${head === null ? '' : `${head}\n`}`,
    html: [
      '<!doctype html>',
      '<html><head><meta name="viewport" content="width=device-width, initial-scale=1"></head>',
      `<body style="${STYLES.body}">`,
      `<p><strong style="color:${COLOURS[mark] ?? '#222'}">${html(mark)}</strong>: ${html(summary)}</p>`,
      ...(rows.length === 0 ? [] : [`<table style="${STYLES.table}">${rows.join('\n')}</table>`]),
      ...(items.length === 0
        ? []
        : [view.members === null ? `<ul>${items.join('\n')}</ul>` : memberTable(view.members)]),
      ...links.map(([title, url]) => `<p><a href="${escapeMarkup(url)}">${title}</a></p>`),
      ...(chart === null ? [] : [chart]),
      ...(next.length === 0 ? [] : [`<p>Next:</p><pre style="${STYLES.next}">${next.map(html).join('\n')}</pre>`]),
      `<p style="${STYLES.foot}">Sent by usage-ledger${head === null ? '' : `<br>${html(head)}`}</p>`,
      '</body></html>',
    ].join('\n'),
  };
}

/** Renders the members of a group. Details are below their name or figure, so that the table fits a phone. */
function memberTable(members: readonly GroupMember[]): string {
  const small = (text: string) => `<br><span style="${STYLES.foot}">${text}</span>`;
  const rows = members.map(({ who, before, now, isForecast, change, alertId }) => {
    const name = `<td style="${STYLES.value}">${html(withoutDomains(who))}${small(escapeMarkup(alertId))}</td>`;
    const figures =
      before === '' ? '' : `${now}${small(`${isForecast ? 'forecast, ' : ''}before ${before}`)}${small(change)}`;
    return `<tr>${name}<td style="${STYLES.figure}">${figures}</td></tr>`;
  });
  return `<table style="${STYLES.table}">${rows.join('\n')}</table>`;
}

function textChart(alert: MessageView['alert']): string[] {
  const usage = alert?.evidence.daily_usage ?? null;
  if (alert === null || alert.period === null || usage === null) return [];
  const { rows, highest } = dayBars(alert.period, usage);
  if (highest <= 0) return [];
  const bars = rows.map(({ period, bars }) => `${period}  ${bars}`);
  return [[`Credits a day, up to ${grouped(Math.round(highest))}:`, ...bars].join('\n')];
}

function nextText(next: readonly string[]): string[] {
  return next.length === 0 ? [] : [['Next:', ...next.map((line) => `  ${line}`)].join('\n')];
}

/** Mail programs make a link of a bare domain; one in a tenant's name must not be clicked. */
function withoutDomains(text: string): string {
  return text.replace(/(?<=[\p{L}\p{N}])\.(?=\p{L}{2})/gu, '[.]');
}

/** Isolates the writing direction of a name, so that it does not affect the text around it. */
function html(text: string): string {
  return `<bdi>${escapeMarkup(text)}</bdi>`;
}

const HEIGHT = 60;
const DAYS = 31;
const LABEL = 'font-size:12px;color:#666;padding:8px 0 2px';
const CELL = 'padding:0 1px 0 0;vertical-align:bottom';

/**
 * The credits of each day of both months as cells of a table, which mail programs show that show no picture; null without days.
 * Nothing in it comes from outside but figures.
 */
export function chartCells({ period, evidence, created_at }: Facts): string | null {
  const { daily_usage: usage } = evidence;
  if (period === null || usage === null) return null;
  const months = [
    { name: monthName(addPeriods(period, -1), created_at), rates: ratesOfDays(usage.days.previous), colour: '#999' },
    { name: monthName(period, created_at), rates: ratesOfDays(usage.days.current), colour: '#06c' },
  ].filter(({ rates }) => rates.length > 0);
  const most = Math.max(...months.flatMap(({ rates }) => rates.map((rate) => rate ?? 0)), 0);
  if (most <= 0) return null;
  const rows = months.map(({ name, rates, colour }) => {
    const cells = Array.from({ length: DAYS }, (_, day) => {
      const height = Math.round((Math.max(0, rates[day] ?? 0) / most) * HEIGHT);
      const bar = height === 0 ? '' : `<div style="height:${height}px;background:${colour};font-size:0">&nbsp;</div>`;
      return `<td style="${CELL}" width="3%">${bar}</td>`;
    });
    const label = `${name}, credits a day (the highest bar is ${grouped(Math.round(most))})`;
    return `<tr><td colspan="${DAYS}" style="${LABEL}">${label}</td></tr><tr style="height:${HEIGHT}px">${cells.join('')}</tr>`;
  });
  return `<table role="presentation" cellspacing="0" style="width:100%;border-collapse:collapse;table-layout:fixed">${rows.join('\n')}</table>`;
}
