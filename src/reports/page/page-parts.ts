import { htmlText } from '../../core/text/html-text.ts';
import { formatInteger } from '../formats/format.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { COLOURS } from './charts.ts';
import { PAGE_STYLE } from './page-style.ts';

/** A cell of a table; a bigint is grouped and set to the right. `html` is markup of ours; that of a figure is a `span`. */
export type Cell = string | bigint | null | { html: string };

/** Where the pages of tenants are; a page that is a file has no such links. */
export interface PageLinks {
  tenant(tenantId: string): string;
  /** The page of the workspace, for the month at hand. */
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

/** A tenant's name, with its id where they differ, and with a link where there are pages of tenants. */
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
