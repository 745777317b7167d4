import { localSummary } from '../../alerts/messages/facts/phrases.ts';
import { mutedWords } from '../../alerts/messages/muted.ts';
import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { alertRows } from '../../alerts/queries/alerts.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, desc, eq, isNotNull, query } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { formatInteger } from '../formats/columns.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { CHART_COLOURS } from './charts.ts';

/**
 * A table cell. A bigint is formatted with separators and aligned right. `html` is trusted markup; that of a figure is
 * a `span`.
 */
export type PageCell = string | bigint | null | { html: string };

/** The addresses of tenant pages. A page that is written to a file has no such links. */
export interface PageLinks {
  tenant(tenantId: string): string;
  workspace: string;
}

/** The content type of a page. */
export const HTML_TYPE = 'text/html; charset=utf-8';

/** Builds a self-contained page without scripts or external resources. `body` is trusted markup. */
export function pageOf(title: string, body: string): string {
  return `${documentStart({ title, style: PAGE_STYLE })}<h1>${htmlText(title)}</h1>\n${body}\n${DOCUMENT_END}`;
}

/** Builds the cell of an amount or a change, for figures that are not plain integers. `text` is trusted markup. */
export function figureCell(text: string): PageCell {
  return { html: `<span>${text}</span>` };
}

export function tenantCell(tenantId: string, name: string, links: PageLinks | null): PageCell {
  const shown = links === null ? htmlText(name) : `<a href="${htmlText(links.tenant(tenantId))}">${htmlText(name)}</a>`;
  return { html: `${shown}${name === tenantId ? '' : ` <span class="quiet">${htmlText(tenantId)}</span>`}` };
}

export function section(title: string, body: string): string {
  return `<section>\n<h2>${htmlText(title)}</h2>\n${body}\n</section>`;
}

/**
 * Wraps a chart in a box that scrolls sideways if the screen is too narrow for its labels. A chart of months shows its
 * end first, which is the current month.
 */
export function chartBox(title: string, svg: string, { ofMonths = false } = {}): string {
  const style = ofMonths ? 'scroll chart months' : 'scroll chart';
  return `<div class="${style}" tabindex="0" role="region" aria-label="Chart: ${htmlText(title)}">${svg}</div>`;
}

export function foldedFigures(table: string): string {
  return `<details><summary>Figures</summary>${table}</details>`;
}

export function legend(series: readonly string[]): string {
  const items = series.map(
    (name, at) =>
      `<li><span style="background:${CHART_COLOURS[at % CHART_COLOURS.length]}"></span>${htmlText(name)}</li>`,
  );
  return `<ul class="legend">${items.join('')}</ul>\n`;
}

export function tableHtml(head: readonly string[], rows: readonly (readonly PageCell[])[]): string {
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

/** The style of a page for light and dark mode, phones and paper. It loads nothing. */
const PAGE_STYLE = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { background: light-dark(#fff, #16181c); color: light-dark(#1c1e21, #e6e6e6); margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
section { break-inside: avoid; margin: 2rem 0; }
.lead { font-size: 1.25rem; line-height: 1.4; }
.quiet { color: light-dark(#555, #b0b0b0); font-size: .85rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
svg { height: auto; max-width: 100%; }
.chart svg { width: 100%; }
.months { direction: rtl; }
.months svg { direction: ltr; }
.legend span { print-color-adjust: exact; }
svg.spark { height: 24px; width: 100px; }
.legend { display: flex; flex-wrap: wrap; font-size: .85rem; gap: .25rem 1rem; list-style: none; margin: 0 0 .5rem; padding: 0; }
.legend li { max-width: 100%; overflow-wrap: anywhere; }
.legend span { border-radius: 2px; display: inline-block; height: .7rem; margin-right: .35rem; width: .7rem; }
a { color: light-dark(#1d4fb8, #8ab4ff); }
meter { height: .8rem; width: 5rem; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { border-bottom: 1px solid light-dark(#ddd, #444); max-width: 22rem; overflow-wrap: break-word; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th.number, td.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
li { overflow-wrap: anywhere; }
details { margin-top: .5rem; }
@media screen and (max-width: 40rem) { .chart svg { max-width: none; width: 34rem; } }
@media print { :root { color-scheme: light; font-size: 12px; } body { max-width: none; padding: 0; } .scroll { overflow: visible; } thead { display: table-header-group; } tr { break-inside: avoid; } details:not([open]) { display: none; } }
`;

export interface PageOrigin {
  runId: string | null;
  /** The head of the ledger's chain, which `verify` recomputes. */
  head: { seq: number; digest: string };
}

/** Reads the run and chain head of the page. The caller holds the read transaction of its figures. */
export function readOrigin(connection: LedgerDb, workspaceId: string): PageOrigin {
  const applied = query(connection)
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), isNotNull(runs.appliedSeq)));
  const last = applied.orderBy(desc(runs.runKey)).limit(1).get();
  return { runId: last?.runId ?? null, head: headOfChain(connection) };
}

export function originHtml({ runId, head }: PageOrigin): string {
  const run = runId === null ? 'Created before the first run' : `Created from run ${htmlText(runId)}`;
  return `<p class="quiet">${run}; ledger head ${htmlText(head.digest)} (link ${head.seq})</p>`;
}

interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  /** The reason why nobody is notified, or null if somebody is. */
  muted: string | null;
  summary: string;
}

export interface PageAlerts {
  /** In the order of `usage-ledger alerts`. */
  alerts: AlertSentence[];
  moreAlerts: number;
}

/**
 * Returns the open alerts of a workspace or of one of its tenants. A tenant's page leaves out margin alerts, because it
 * must not show costs.
 */
export function openAlerts(
  connection: LedgerDb,
  { timezone, ...subject }: { workspaceId: string; tenantId?: string; nowMs: number; timezone: string },
  limit: number,
): PageAlerts {
  const open = alertRows(connection, { states: 'open', ...subject });
  const rows = open.filter(({ rule }) => subject.tenantId === undefined || rule !== 'margin');
  const momentsOf = alertMoments(connection, timezone);
  const alerts = rows.slice(0, limit).map((alert): AlertSentence => {
    return {
      severity: alert.severity,
      state: alert.state,
      since: alert.first_fired_at,
      muted: mutedWords(alert.muted_because),
      summary: localSummary(momentsOf(alert).now.notification),
    };
  });
  return { alerts, moreAlerts: rows.length - alerts.length };
}
