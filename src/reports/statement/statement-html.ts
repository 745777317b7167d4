import type { StatementDocument } from '../../billing/statement/document.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { lineWords, priceWords, STATEMENT_COLUMNS } from './statement-lines.ts';

type Tenant = StatementDocument['tenants'][number];
type SheetFacts = Pick<
  StatementDocument,
  'state' | 'period' | 'workspace_id' | 'as_of' | 'certificate' | 'head_digest'
>;

export const STATE_WORDS = {
  open: 'open, an estimate: the month is not over',
  settling: 'settling, an estimate: it is over and not closed',
  closed: 'closed',
} as const;

/** What an open month comes to, such as `2,000 credits and 20.00 EUR`; null when that cannot be said, or is nothing. */
export function projectionWords({
  projected_credits: credits,
  projected_totals: totals = [],
}:
  | Pick<StatementDocument, 'projected_credits' | 'projected_totals'>
  | Pick<Tenant, 'projected_credits' | 'projected_totals'>): string | null {
  if (credits == null || (credits === 0n && totals.length === 0)) return null;
  const amounts = totals.map(({ amount, currency }) => `${formatDecimal(amount)} ${currency}`);
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}

/** Nothing that a browser would fetch. */
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
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; } }
`;

/**
 * The statement as a page to print, a tenant a sheet of paper, a piece at a time. It is a function of the document alone, whose
 * tenants are read as they are written: a closed period's is the same to the byte each time.
 */
export function* statementHtml(statement: SheetFacts, tenants: Iterable<Tenant>): Generator<string> {
  const { period, workspace_id } = statement;
  yield documentStart({ title: `Statement ${period}, ${workspace_id}`, style: STYLE });
  let isEmpty = true;
  for (const tenant of tenants) {
    isEmpty = false;
    yield tenantSection(statement, tenant);
  }
  if (isEmpty) yield '<p>The period has no tenant that fits.</p>\n';
  yield DOCUMENT_END;
}

/** A tenant's sheet; `certificate` and `head_digest` are null in what goes to the tenant. */
export function tenantSection(statement: SheetFacts, tenant: Omit<Tenant, 'proof'>): string {
  const { state, period, workspace_id, as_of, certificate, head_digest } = statement;
  const { tenant_id, display_name, external_ref, credits_used, request_count, totals } = tenant;
  const reference = external_ref === null ? '' : `, ${htmlText(external_ref)}`;
  const proof = certificate === null ? '' : `, proven by run ${htmlText(certificate.run_id)}`;
  const digest =
    head_digest === null
      ? ''
      : `<p class="quiet">${state === 'closed' ? 'Close' : 'Run'} digest ${htmlText(head_digest)}</p>\n`;
  const words = projectionWords(tenant);
  const projection = words === null ? '' : `<p>At this rate ${words} by the end of the month.</p>\n`;
  const sums = totals
    .map(
      ({ amount, currency }) =>
        `<tr><td colspan="3">Total</td><td class="number">${formatDecimal(amount)} ${currency}</td></tr>\n`,
    )
    .join('');
  return `<section>
<h1>${htmlText(display_name ?? tenant_id)}</h1>
<p class="quiet">${htmlText(tenant_id)}${reference}, workspace ${htmlText(workspace_id)}</p>
<p><strong>${htmlText(period)}</strong>: ${STATE_WORDS[state]}</p>
<p>${formatInteger(credits_used)} credits in ${formatInteger(request_count)} requests</p>
${projection}<div class="scroll" tabindex="0" role="region" aria-label="Lines of ${htmlText(display_name ?? tenant_id)}">
<table>
<thead><tr>${HEAD.join('')}</tr></thead>
<tbody>
${tenant.lines.length === 0 ? '<tr><td colspan="4">not priced</td></tr>\n' : tenant.lines.map(lineRow).join('')}</tbody>
<tfoot>
${sums}</tfoot>
</table>
</div>
<p class="quiet">As of ${htmlText(as_of ?? 'never')}${proof}</p>
${digest}</section>
`;
}

/** What stands on paper, of the columns of a statement. */
const HEAD = ['kind', 'credits', 'unit_price', 'amount'].map((name) => {
  const { kind = 'text', header = '' } = STATEMENT_COLUMNS.find((column) => column.name === name) ?? {};
  return `<th scope="col"${kind === 'text' ? '' : ' class="number"'}>${header}</th>`;
});

function lineRow(line: Tenant['lines'][number]): string {
  const cells = [
    `<td>${htmlText(lineWords(line))}<br><span class="quiet">${htmlText(line.rate_card ?? '')}</span></td>`,
    `<td class="number">${line.credits === null ? '' : formatInteger(line.credits)}</td>`,
    `<td class="number">${htmlText(priceWords(line))}</td>`,
    `<td class="number">${line.amount === null ? '' : `${formatDecimal(line.amount)} ${line.currency}`}</td>`,
  ];
  return `<tr>${cells.join('')}</tr>\n`;
}
