import { createHash } from 'node:crypto';
import type { TenantDocument } from '../../billing/statement/tenant-document.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { renderJson } from '../formats/json.ts';
import { PROVE_SCRIPT } from './prove-script.ts';
import { STYLE, tenantSection } from './statement-html.ts';

const OWN_STYLE = `
#prove { border-top: 2px solid light-dark(#ccc, #555); padding-top: 1rem; }
#prove input { box-sizing: border-box; font: .9rem ui-monospace, monospace; padding: .4rem; width: 100%; }
#prove pre { font-size: .75rem; overflow-wrap: anywhere; white-space: pre-wrap; }
#verdict { font-size: 1.1rem; font-weight: 600; margin: .8rem 0; padding: .5rem .8rem; }
#verdict.proven { background: #14532d; color: #fff; }
#verdict.refused { background: #7f1d1d; color: #fff; }
@media print { #prove label, #prove input { display: none; } }
`;

/**
 * The statement of one tenant as one page to print that proves itself: it asks for the digest of the close and shows each step
 * from there to what is printed. Its script fetches nothing.
 */
export function tenantPage(statement: TenantDocument): string {
  const { period, proof } = statement;
  const sheet = { ...statement, certificate: null, head_digest: proof?.close_digest ?? null };
  const hash = createHash('sha256').update(PROVE_SCRIPT).digest('base64');
  const title = `Statement ${period}, ${statement.tenant_id}`;
  const start = documentStart({ title, style: STYLE + OWN_STYLE, script: `'sha256-${hash}'` });
  return `${start}${tenantSection(sheet, statement)}${proof === null ? '' : provingPart(proof)}${DOCUMENT_END}`;
}

function provingPart({ close, tenant }: NonNullable<TenantDocument['proof']>): string {
  const json = renderJson({ close, tenant }).replaceAll('<', '\\u003c');
  return `<div id="prove">
<h2>Does this bill say what was closed?</h2>
<p>Enter the digest of the close as you were told it by another route than this file. Everything is worked out on this device;
nothing is sent. Whoever doubts the page itself checks the statement's JSON with a program of their own.</p>
<p><label for="digest">Digest of the close, 64 digits</label><input id="digest" autocomplete="off" spellcheck="false" maxlength="80"></p>
<p id="verdict" role="status">Not checked: no digest was entered.</p>
<ol id="steps"></ol>
</div>
<script type="application/json" id="proof">${json}</script>
<script>${PROVE_SCRIPT}</script>
`;
}
