import { escapeMarkup } from '../../core/text/html-text.ts';
import { dayBars } from '../notify/day-bars.ts';
import { chartSvg } from './chart-svg.ts';
import { clip, MESSAGE_LINES, type MessageView, tailLine } from './message-view.ts';

const SUBJECT_CHARACTERS = 150;

/** What an e-mail says, twice: for programs that show HTML and for those that do not. */
export interface EmailText {
  /** One line without any control character. */
  subject: string;
  text: string;
  html: string;
}

export function emailText(view: MessageView): EmailText {
  const { mark, next, alert, head } = view;
  const summary = withoutDomains(view.summary);
  const facts = view.facts.map(({ label, value }) => ({ label, value: withoutDomains(value) }));
  const all = view.lines.map(withoutDomains);
  const hidden = Math.max(0, all.length - MESSAGE_LINES);
  const shown = [...all.slice(0, MESSAGE_LINES), ...(hidden > 0 ? [tailLine(hidden)] : [])];
  const lines = [...facts.map(({ label, value }) => `${label}: ${value}`), ...shown];
  const items = shown.map((line) => `<li>${html(line)}</li>`);
  const chart = alert === null ? null : chartSvg(alert);
  const rows = facts.map(({ label, value }) => `<tr><th align="left">${html(label)}</th><td>${html(value)}</td></tr>`);
  return {
    // Where `=?` begins, a mail program looks for encoded words, also in what a name only pretends to encode.
    subject: clip(`[${mark}] ${summary}`.replaceAll('=?', '= ?'), SUBJECT_CHARACTERS),
    text: `${[summary, lines.join('\n'), ...textChart(alert), ...nextText(next)].join('\n\n')}\n\n-- \nSent by usage-ledger\n${head === null ? '' : `${head}\n`}`,
    html: [
      '<!doctype html>',
      '<html><body>',
      `<p><strong>${html(mark)}</strong>: ${html(summary)}</p>`,
      items.length > 0 ? `<ul>${items.join('\n')}</ul>` : `<table cellpadding="4">${rows.join('\n')}</table>`,
      ...(chart === null ? [] : [`<p>${chart}</p>`]),
      ...(next.length === 0 ? [] : [`<p>Next:</p><pre>${next.map(html).join('\n')}</pre>`]),
      `<p>Sent by usage-ledger${head === null ? '' : `<br>${html(head)}`}</p>`,
      '</body></html>',
    ].join('\n'),
  };
}

/** The days of both months as bars, for programs that show text alone. */
function textChart(alert: MessageView['alert']): string[] {
  const course = alert?.evidence.course ?? null;
  if (alert === null || alert.period === null || course === null) return [];
  const { rows, highest } = dayBars(alert.period, course);
  const bars = rows.map(({ period, bars }) => `${period}  ${bars}`);
  return [[`Credits a day, up to ${Math.round(highest).toLocaleString('en-US')}:`, ...bars].join('\n')];
}

function nextText(next: readonly string[]): string[] {
  return next.length === 0 ? [] : [['Next:', ...next.map((line) => `  ${line}`)].join('\n')];
}

/** Mail programs make a link of a bare domain; one in a tenant's name must not be clicked. */
function withoutDomains(text: string): string {
  return text.replace(/(?<=[\p{L}\p{N}])\.(?=\p{L}{2})/gu, '[.]');
}

/** Names of any script keep their own direction and do not turn what stands beside them. */
function html(text: string): string {
  return `<bdi>${escapeMarkup(text)}</bdi>`;
}
