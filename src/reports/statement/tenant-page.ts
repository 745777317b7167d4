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

export const NOT_CHECKED = 'Not checked: enter the digest of the close.';

/** The script of a page. The page's policy allows it by `sha256`, the base64 hash of its text. */
export interface PageScript {
  text: string;
  sha256: string;
}

/**
 * Builds a printable page of one tenant's statement that verifies itself. It asks for the digest of the close, shows
 * each step of the check, and replaces its own content with the verified statement. Its script sends and loads nothing.
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
  // The digest must reach the reader separately. If it were printed on the page, readers would copy it into the
  // field.
  const shown = { ...statement, head_digest: null };
  const sheets = tenants.map((tenant) => tenantSection(shown, tenant)).join('');
  return `${start}${sheets}${proof === null ? '' : proofSection(statement, script)}${DOCUMENT_END}`;
}

function proofSection(statement: StatementDocument, script: PageScript): string {
  // The statement's JSON text is embedded as a JSON string, because the check covers every character of it.
  const json = JSON.stringify(renderJson(statement)).replaceAll('<', '\\u003c');
  return `<div id="prove" lang="en">
<h2>Verify this statement</h2>
<p>Enter the digest of the close that you received separately from this file. This page is then rebuilt from the closed statement,
and anything else in the file is removed. All checks run on this device; nothing is sent. Whoever made the file also made its script:
if you doubt it, check the statement's JSON with an independent program such as verify-statement.mjs.</p>
<p><label for="digest">Digest of the close, 64 digits</label><input id="digest" autocomplete="off" spellcheck="false" maxlength="80"></p>
<p id="verdict" role="status">${NOT_CHECKED}</p>
<ol id="steps"></ol>
</div>
<script type="application/json" id="statement">${json}</script>
<script id="script">${script.text}</script>
`;
}
