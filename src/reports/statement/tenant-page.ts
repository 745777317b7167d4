import type { StatementDocument } from '../../billing/statement/document.ts';
import { DOCUMENT_END, documentStart } from '../formats/html-document.ts';
import { renderJson } from '../formats/json.ts';
import { STYLE, tenantSection } from './statement-html.ts';
import { STATEMENT_WORDS } from './statement-words.ts';

const OWN_STYLE = `
#prove { border-top: 2px solid light-dark(#ccc, #555); padding-top: 1rem; }
#prove input { box-sizing: border-box; font: .9rem ui-monospace, monospace; padding: .4rem; width: 100%; }
#prove pre { font-size: .75rem; overflow-wrap: anywhere; white-space: pre-wrap; }
#verdict { font-size: 1.1rem; font-weight: 600; margin: .8rem 0; padding: .5rem .8rem; }
#verdict.proven { background: #14532d; color: #fff; }
#verdict.refused { background: #7f1d1d; color: #fff; }
@media print { #prove label, #prove input { display: none; } }
`;

export const NOT_CHECKED = 'Not checked: no digest was entered.';

/** What a page runs; `sha256` of the text, in base64, is what its policy lets run. */
export interface PageScript {
  text: string;
  sha256: string;
}

/**
 * The statement of one tenant as one page to print that proves itself: it asks for the digest of the close, shows each step from
 * there to what was closed, and makes itself anew of that alone. Its script fetches nothing.
 */
export function tenantPage(statement: StatementDocument, script: PageScript): string {
  const { period, proof, tenants, letterhead } = statement;
  const language = letterhead?.language ?? 'en';
  const start = documentStart({
    title: `${STATEMENT_WORDS[language].statement} ${period}, ${tenants[0]?.tenant_id}`,
    style: STYLE + OWN_STYLE,
    script: `'sha256-${script.sha256}'`,
    language,
    images: letterhead?.logo != null,
  });
  // The digest is to come by another route: above the field that asks for it, it would be copied.
  const shown = { ...statement, head_digest: null };
  const sheets = tenants.map((tenant) => tenantSection(shown, tenant)).join('');
  return `${start}${sheets}${proof === null ? '' : provingPart(statement, script)}${DOCUMENT_END}`;
}

function provingPart(statement: StatementDocument, script: PageScript): string {
  // JSON in JSON: the check is of the text, to the last character.
  const json = JSON.stringify(renderJson(statement)).replaceAll('<', '\\u003c');
  return `<div id="prove" lang="en">
<h2>Does this bill say what was closed?</h2>
<p>Enter the digest of the close as you were told it by another route than this file. Then this page is made anew of what was closed,
and anything else that the file shows is taken away. Everything is worked out on this device; nothing is sent. Who made the file has
made its script, too: if you doubt that, check the statement's JSON with a program of your own, such as verify-statement.mjs.</p>
<p><label for="digest">Digest of the close, 64 digits</label><input id="digest" autocomplete="off" spellcheck="false" maxlength="80"></p>
<p id="verdict" role="status">${NOT_CHECKED}</p>
<ol id="steps"></ol>
</div>
<script type="application/json" id="statement">${json}</script>
<script id="script">${script.text}</script>
`;
}
