import type { DocumentTenant, Letterhead, StatementDocument } from '../../billing/statement/document.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { lineWords, priceWords } from './statement-lines.ts';
import {
  localizeFigure,
  STATEMENT_WORDS,
  type StatementLanguage,
  type StatementWords,
  translateLine,
} from './statement-words.ts';

type SheetFacts = Pick<
  StatementDocument,
  'state' | 'period' | 'workspace_id' | 'as_of' | 'certificate' | 'head_digest' | 'letterhead'
>;

/**
 * Formats the forecast of an open month, such as `2,000 credits and 20.00 EUR`. Returns null if there is none or it is
 * zero.
 */
export function projectionWords({
  projected_credits: credits,
  projected_totals: totals = [],
}:
  | Pick<StatementDocument, 'projected_credits' | 'projected_totals'>
  | Pick<DocumentTenant, 'projected_credits' | 'projected_totals'>): string | null {
  if (credits == null || (credits === 0n && totals.length === 0)) return null;
  const amounts = totals.map(({ amount, currency }) => `${formatDecimal(amount)} ${currency}`);
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}

/** The style of a statement. It loads nothing. */
export const STYLE = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { background: light-dark(#fff, #16181c); color: light-dark(#1c1e21, #e6e6e6); margin: 0 auto; max-width: 52rem; padding: 1.5rem; }
section { break-after: page; margin-bottom: 3rem; }
section:last-of-type { break-after: auto; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
p { margin: .2rem 0; }
.quiet { color: light-dark(#555, #aaa); font-size: .85rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 1rem; width: 100%; }
th, td { border-bottom: 1px solid light-dark(#ddd, #444); padding: .35rem .5rem; text-align: left; vertical-align: top; }
td.number, th.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
tfoot td { border-bottom: 0; font-weight: 600; }
.letterhead { display: flex; gap: 1rem; justify-content: space-between; margin-bottom: 1.5rem; }
.letterhead img { max-height: 4rem; max-width: 16rem; }
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; } }
`;

/**
 * Builds the printable page of a statement in chunks, one sheet of paper per tenant. It depends on the document only,
 * so a closed period's page is always the same to the byte. Tenants are read while they are written.
 */
export function* statementHtml(statement: SheetFacts, tenants: Iterable<DocumentTenant>): Generator<string> {
  const { period, workspace_id } = statement;
  yield documentStart({ title: `Statement ${period}, ${workspace_id}`, style: STYLE });
  // Leaves the letterhead out: its logo would be repeated for each tenant.
  const { letterhead: _, ...facts } = statement;
  let isEmpty = true;
  for (const tenant of tenants) {
    isEmpty = false;
    yield tenantSection(facts, tenant);
  }
  if (isEmpty) yield '<p>No matching tenants.</p>\n';
  yield DOCUMENT_END;
}

/** Builds one tenant's sheet. `certificate` and `head_digest` are null in a statement for a tenant. */
export function tenantSection(statement: SheetFacts, tenant: Omit<DocumentTenant, 'proof'>): string {
  const { state, period, workspace_id, as_of, certificate, head_digest, letterhead } = statement;
  const { tenant_id, display_name, external_ref, statement_number, credits_used, request_count, totals } = tenant;
  const language = letterhead?.language ?? 'en';
  const words = STATEMENT_WORDS[language];
  const reference = external_ref === null ? '' : `, ${htmlText(external_ref)}`;
  const proof = certificate === null ? '' : `, verified by run ${htmlText(certificate.run_id)}`;
  const digest =
    head_digest === null
      ? ''
      : `<p class="quiet">${state === 'closed' ? 'Close' : 'Run'} digest ${htmlText(head_digest)}</p>\n`;
  const projected = projectionWords(tenant);
  const projection = projected === null ? '' : `<p>Forecast for the month: ${projected}.</p>\n`;
  const sums = totals
    .map(
      ({ amount, currency }) =>
        `<tr><td colspan="3">${words.total}</td><td class="number">${localizeFigure(language, formatDecimal(amount))} ${currency}</td></tr>\n`,
    )
    .join('');
  const number = statement_number === undefined ? '' : `<p>${words.statement} ${htmlText(statement_number)}</p>\n`;
  const figures = [formatInteger(credits_used), formatInteger(request_count)].map((one) =>
    localizeFigure(language, one),
  );
  const rows = tenant.lines.map((line) => lineRow(line, language)).join('');
  return `<section>
${letterhead === undefined ? '' : letterheadHtml(letterhead)}<h1>${htmlText(display_name ?? tenant_id)}</h1>
<p class="quiet">${htmlText(tenant_id)}${reference}, ${words.workspace} ${htmlText(workspace_id)}</p>
${number}<p><strong>${htmlText(period)}</strong>: ${words[state]}</p>
<p>${figures[0]} ${words.credits} ${figures[1]} ${words.requests}</p>
${projection}<div class="scroll" tabindex="0" role="region" aria-label="${words.linesOf} ${htmlText(display_name ?? tenant_id)}">
<table>
<thead><tr>${headRow(words)}</tr></thead>
<tbody>
${rows === '' ? `<tr><td colspan="4">${words.unpriced}</td></tr>\n` : rows}</tbody>
<tfoot>
${sums}</tfoot>
</table>
</div>
<p class="quiet">${words.asOf} ${htmlText(as_of ?? 'never')}${proof}</p>
${digest}${letterhead?.footer == null ? '' : `<p class="quiet">${htmlText(letterhead.footer)}</p>\n`}</section>
`;
}

function letterheadHtml({ name, address, logo }: Letterhead): string {
  const lines = [`<strong>${htmlText(name)}</strong>`, ...address.map(htmlText)].join('<br>');
  // Shows the logo only if it is an image that the close stored.
  const isImage = logo !== null && /^data:image\/(png|jpeg|svg\+xml);base64,[A-Za-z0-9+/=]*$/.test(logo);
  return `<div class="letterhead"><p>${lines}</p>${isImage ? `<img src="${logo}" alt="">` : ''}</div>\n`;
}

function headRow({ line, price, amount }: StatementWords): string {
  const numbers = ['Credits', price, amount].map((one) => `<th scope="col" class="number">${one}</th>`);
  return [`<th scope="col">${line}</th>`, ...numbers].join('');
}

function lineRow(line: DocumentTenant['lines'][number], language: StatementLanguage): string {
  const figure = (text: string) => htmlText(localizeFigure(language, text));
  const label = line.kind === 'manual' ? lineWords(line) : translateLine(language, lineWords(line));
  const cells = [
    `<td>${htmlText(label)}<br><span class="quiet">${htmlText(line.rate_card ?? '')}</span></td>`,
    `<td class="number">${line.credits === null ? '' : figure(formatInteger(line.credits))}</td>`,
    `<td class="number">${figure(priceWords(line))}</td>`,
    `<td class="number">${line.amount === null ? '' : `${figure(formatDecimal(line.amount))} ${line.currency}`}</td>`,
  ];
  return `<tr>${cells.join('')}</tr>\n`;
}
