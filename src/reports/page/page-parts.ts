import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { alertRows } from '../../alerts/queries/alerts.ts';
import { mutedWords } from '../../alerts/wording/muted.ts';
import { named } from '../../alerts/wording/names.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, desc, eq, isNotNull, query } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { formatInteger } from '../formats/columns.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { COLOURS } from './charts.ts';

/** A cell of a table; a bigint is grouped and set to the right. `html` is markup of ours; that of a figure is a `span`. */
export type Cell = string | bigint | null | { html: string };

/** Where the pages of tenants are; a page that is a file has no such links. */
export interface PageLinks {
  tenant(tenantId: string): string;
  workspace: string;
}

/** A page as one file: no script, nothing to fetch. `body` is markup of ours. */
export function pageOf(title: string, body: string): string {
  return `${documentStart({ title, style: PAGE_STYLE })}<h1>${htmlText(title)}</h1>\n${body}\n${DOCUMENT_END}`;
}

/** An amount or a change: a figure that is not a plain integer. `text` is markup of ours. */
export function figure(text: string): Cell {
  return { html: `<span>${text}</span>` };
}

export function tenantCell(tenantId: string, name: string, links: PageLinks | null): Cell {
  const shown = links === null ? htmlText(name) : `<a href="${htmlText(links.tenant(tenantId))}">${htmlText(name)}</a>`;
  return { html: `${shown}${name === tenantId ? '' : ` <span class="quiet">${htmlText(tenantId)}</span>`}` };
}

export function section(title: string, body: string): string {
  return `<section>\n<h2>${htmlText(title)}</h2>\n${body}\n</section>`;
}

/** A chart; where there is too little room for its words its end is shown, and it can be moved to and fro. */
export function chartBox(title: string, svg: string): string {
  return `<div class="scroll chart" tabindex="0" role="region" aria-label="Chart: ${htmlText(title)}">${svg}</div>`;
}

export function behind(table: string): string {
  return `<details><summary>Figures</summary>${table}</details>`;
}

export function legend(series: readonly string[]): string {
  const items = series.map(
    (name, at) => `<li><span style="background:${COLOURS[at % COLOURS.length]}"></span>${htmlText(name)}</li>`,
  );
  return `<ul class="legend">${items.join('')}</ul>\n`;
}

export function tableOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = (row: readonly Cell[]): string => row.map(cellHtml).join('');
  const isNumber = head.map((_, at) => rows.some((row) => isNumeric(row[at] ?? null)));
  const titles = head
    .map((title, at) => `<th scope="col"${isNumber[at] === true ? ' class="number"' : ''}>${htmlText(title)}</th>`)
    .join('');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${htmlText(head.join(', '))}"><table>
<thead><tr>${titles}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody>
</table></div>`;
}

function isNumeric(cell: Cell): boolean {
  if (cell === null || typeof cell === 'string') return false;
  return typeof cell === 'bigint' || cell.html.startsWith('<span>');
}

function cellHtml(cell: Cell): string {
  if (cell === null) return '<td></td>';
  if (typeof cell === 'bigint') return `<td class="number">${formatInteger(cell)}</td>`;
  if (typeof cell === 'string') return `<td>${htmlText(cell)}</td>`;
  return `<td${isNumeric(cell) ? ' class="number"' : ''}>${cell.html}</td>`;
}

/** Light and dark by the reader's setting, phone and paper; nothing is fetched. */
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
  /** The end of the ledger's chain, which `verify` recomputes. */
  head: { seq: number; digest: string };
}

/** The caller holds the read transaction in which the figures are read. */
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
  const run = runId === null ? 'Made before any run' : `Made from run ${htmlText(runId)}`;
  return `<p class="quiet">${run}, head of the ledger ${htmlText(head.digest)} (link ${head.seq})</p>`;
}

interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  /** Why nobody is told; null where somebody is. */
  muted: string | null;
  summary: string;
}

export interface PageAlerts {
  /** In the order of the list of alerts. */
  alerts: AlertSentence[];
  moreAlerts: number;
}

/** The open alerts of a workspace, or of one tenant of it: that page says nothing of what the tenant costs. */
export function openAlerts(
  connection: LedgerDb,
  subject: { workspaceId: string; tenantId?: string; nowMs: number },
  limit: number,
): PageAlerts {
  const open = alertRows(connection, { states: 'open', ...subject });
  const rows = open.filter(({ rule }) => subject.tenantId === undefined || rule !== 'margin');
  const momentsOf = alertMoments(connection);
  const place = `${named(subject.workspaceId)}: `;
  const alerts = rows.slice(0, limit).map((alert): AlertSentence => {
    const { summary } = momentsOf(alert).now.notification;
    return {
      severity: alert.severity,
      state: alert.state,
      since: alert.first_fired_at,
      muted: mutedWords(alert.muted_because),
      summary: summary.startsWith(place) ? summary.slice(place.length) : summary,
    };
  });
  return { alerts, moreAlerts: rows.length - alerts.length };
}
