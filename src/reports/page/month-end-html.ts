import { formatMinute } from '../../core/date-time.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import type { MonthEnd, MonthEndWorkspace } from '../queries/month-end-record.ts';
import {
  findNotices,
  formatLedgerState,
  formatMonthChange,
  formatMonthMoney,
  formatReadiness,
  formatWorkspaceState,
} from '../queries/month-end-words.ts';
import { STYLE } from '../statement/statement-html.ts';

/**
 * A table cell. A bigint is formatted with separators and aligned right. `html` is trusted markup; that of a figure is
 * a `span`.
 */
type PageCell = string | bigint | null | { html: string };

const MONTH_END_STYLE = `body { max-width: 72rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { font-size: .9rem; margin-top: 0; }
th.number { white-space: normal; }
td:not(:first-child) { white-space: nowrap; }
li { margin: .3rem 0; }
@media print { body { font-size: .8rem; } table { font-size: .7rem; } th, td { padding: .2rem .3rem; } }
`;

export function monthEndHtml(plan: MonthEnd): string {
  const { period, at, workspaces, money } = plan;
  const blocked = workspaces.flatMap(({ workspace_id: id, blockers }) =>
    blockers.map(({ reason, command }) => item(`${id}: ${reason}`, command)),
  );
  const unsound = plan.sound !== false ? [] : [item('the ledger has faults', 'usage-ledger verify')];
  const notices = workspaces.flatMap((workspace) =>
    findNotices(workspace, period).map(({ words, command }) => item(words, command)),
  );
  return [
    documentStart({ title: `Month end ${period}`, style: STYLE + MONTH_END_STYLE }),
    `<h1>Month end ${htmlText(period)}</h1>\n`,
    `<p><strong>${htmlText(formatReadiness(plan))}</strong></p>\n`,
    `<p class="quiet">As of ${formatMinute(at)} UTC; ${htmlText(formatLedgerState(plan))}, head digest ${plan.head_digest ?? 'unknown'}</p>\n`,
    listHtml('Blocking', [...unsound, ...blocked]),
    listHtml('Also worth checking', notices),
    ...money.map(monthMoneySection),
    '<h2>Workspaces</h2>\n',
    tableHtml(WORKSPACE_HEAD, workspaces.map(monthEndCells)),
    '<h2>Sign-off</h2>\n<p>Name, date: ____________________________________________</p>\n',
    DOCUMENT_END,
  ].join('');
}

const WORKSPACE_HEAD: readonly string[] = [
  'Workspace',
  'State',
  'Tenants',
  'Unchanged since',
  'Unnamed',
  'Unpriced',
  'Corrected',
  'Amount',
  'Previous month',
];

function monthEndCells(workspace: MonthEndWorkspace): PageCell[] {
  const { workspace_id, tenants, unchanged_since, unnamed, unpriced, corrections, amounts } = workspace;
  const sums = (of: 'amount' | 'previous_amount') =>
    figureCell(amounts.map((money) => htmlText(`${formatDecimal(money[of])} ${money.currency}`)).join('<br>'));
  return [
    workspace_id,
    formatWorkspaceState(workspace),
    BigInt(tenants),
    unchanged_since === null ? 'never' : formatMinute(unchanged_since),
    BigInt(unnamed.count),
    BigInt(unpriced.count),
    BigInt(corrections.tenants),
    sums('amount'),
    sums('previous_amount'),
  ];
}

function monthMoneySection(money: MonthEnd['money'][number]): string {
  const items = money.largest.map((one) => `<li>${htmlText(formatMonthChange(one))}</li>\n`).join('');
  const largest = items === '' ? '' : `<ul>\n${items}</ul>\n`;
  return `<h2>${money.currency}</h2>\n<p>${formatMonthMoney(money)}</p>\n${largest}`;
}

function item(words: string, command: string | null): string {
  const typed = command === null ? '' : `<br><code>${htmlText(command)}</code>`;
  return `<li>${htmlText(words)}${typed}</li>\n`;
}

function listHtml(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `<h2>${title}</h2>\n<ul>\n${items.join('')}</ul>\n`;
}

/** Builds the cell of an amount or a change, for figures that are not plain integers. `text` is trusted markup. */
function figureCell(text: string): PageCell {
  return { html: `<span>${text}</span>` };
}

function tableHtml(head: readonly string[], rows: readonly (readonly PageCell[])[]): string {
  const cells = (row: readonly PageCell[]): string => row.map(cellHtml).join('');
  const isNumber = head.map((_, at) => rows.some((row) => isNumeric(row[at] ?? null)));
  const titles = head
    .map((title, at) => `<th scope="col"${isNumber[at] === true ? ' class="number"' : ''}>${htmlText(title)}</th>`)
    .join('');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${htmlText(head.join(', '))}"><table>
<thead><tr>${titles}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody>
</table></div>`;
}

function isNumeric(cell: PageCell): boolean {
  if (cell === null || typeof cell === 'string') return false;
  return typeof cell === 'bigint' || cell.html.startsWith('<span>');
}

function cellHtml(cell: PageCell): string {
  if (cell === null) return '<td></td>';
  if (typeof cell === 'bigint') return `<td class="number">${formatInteger(cell)}</td>`;
  if (typeof cell === 'string') return `<td>${htmlText(cell)}</td>`;
  return `<td${isNumeric(cell) ? ' class="number"' : ''}>${cell.html}</td>`;
}
