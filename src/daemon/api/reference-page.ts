import { htmlText } from '../../core/text/html-text.ts';
import type { Operation } from '../../operations/operation.ts';
import { pageOf } from '../../reports/page/page-parts.ts';
import { schemaOf } from './openapi.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from './read-input.ts';

/** The page has no scripts and loads nothing. */
export const REFERENCE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Returns the reference of the API as one page. */
export function referencePage(operations: readonly Operation[], version: string): string {
  const intro = `<p>Version ${htmlText(version)}. Send a token as <code>Authorization: Bearer TOKEN</code>. The paths are
below <code>/api/v1</code>; programs read <a href="/api/openapi.json">openapi.json</a>.</p>
<p>A listing has ${DEFAULT_LIMIT} rows, or <code>limit</code> up to ${MAX_LIMIT}; pass its <code>next_cursor</code> as
<code>cursor</code> to continue. <code>Accept: application/x-ndjson</code> or <code>text/csv</code> streams all rows.
<code>If-None-Match</code> with the <code>ETag</code> of an answer gives 304 while it is current.</p>`;
  return pageOf('API', `${intro}\n${operations.map(sectionOf).join('\n')}`);
}

function sectionOf(operation: Operation): string {
  const { http, summary, role, command } = operation;
  const { properties = {}, required = [] } = schemaOf(operation.input, 'input') as {
    properties?: Record<string, { description?: string; type?: unknown; enum?: unknown[] }>;
    required?: string[];
  };
  const rows = Object.entries(properties).map(([field, { description = '', enum: choices }]) => {
    const list = choices === undefined ? '' : `: ${choices.join(', ')}`;
    const mark = required.includes(field) ? ' (required)' : '';
    return `<tr><td><code>${htmlText(field)}</code></td><td>${htmlText(`${description}${mark}${list}`)}</td></tr>`;
  });
  const fields = rows.length === 0 ? '' : `<table><tbody>${rows.join('')}</tbody></table>`;
  const same = command === null ? '' : ` Same as <code>usage-ledger ${htmlText(command)} --json</code>.`;
  return `<section><h2><code>${http.method} ${htmlText(http.path)}</code></h2>
<p>${htmlText(summary)}. Role <code>${role}</code>.${same}</p>${fields}</section>`;
}
