import type { StatementDocument } from '../../billing/statement/document.ts';
import { DOCUMENT_END, documentStart, renderInert } from '../../look/document.ts';
import { renderJson } from '../formats/json.ts';
import { StatementSheet } from './statement-sheet.tsx';
import { STATEMENT_WORDS } from './statement-words.ts';

export const NOT_CHECKED = 'Not checked: enter the digest of the close.';

/**
 * The style sheet and the script of a tenant's statement page. The page's content security policy allows only the
 * script with this hash.
 */
export interface PageAssets {
  style: string;
  script: string;
  /** The SHA-256 hash of `script`, in base64. */
  scriptHash: string;
}

/**
 * Builds a printable page with one tenant's statement, which the reader can verify on the page itself. The reader
 * enters the digest of the close. The page's script then shows each step of the check and replaces the content of the
 * page with the verified statement. The script sends and loads nothing.
 */
export function tenantPage(statement: StatementDocument, { style, script, scriptHash }: PageAssets): string {
  const { period, proof, tenants, letterhead } = statement;
  const language = letterhead?.language ?? 'en';
  const title = `${STATEMENT_WORDS[language].statement} ${period}, ${tenants[0]?.tenant_id}`;
  // The digest is not printed on the page, because readers would copy it from there into the field. The check proves
  // something only if the digest reaches the reader in another way.
  const shown = { ...statement, head_digest: null };
  const sheets = tenants.map((tenant) => renderInert(<StatementSheet statement={shown} tenant={tenant} />));
  const check = proof === null ? '' : `${renderedForm()}\n${embeddedScripts(statement, script)}`;
  return `${documentStart({ title, style, language, scriptHash })}${sheets.join('')}${check}${DOCUMENT_END}`;
}

let cachedForm: string | null = null;

/** Returns the form for the check. It is the same on each page, so it is rendered only once. */
function renderedForm(): string {
  cachedForm ??= renderInert(<VerifyForm />);
  return cachedForm;
}

function VerifyForm() {
  return (
    <div id="prove" class="card" lang="en">
      <header>
        <h2>Verify this statement</h2>
      </header>
      <div class="inside">
        <p>
          Enter the digest of the close that you received separately from this file. This page is then rebuilt from the
          closed statement, and anything else in the file is removed. All checks run on this device; nothing is sent.
          Whoever made the file also made its script: if you doubt it, check the statement's JSON with an independent
          program such as verify-statement.mjs.
        </p>
        <label for="digest">Digest of the close, 64 digits</label>
        <input id="digest" autocomplete="off" spellcheck={false} maxLength={80} />
        <p id="verdict" role="status">
          {NOT_CHECKED}
        </p>
        <ol id="steps" />
      </div>
    </div>
  );
}

/**
 * Returns two script elements: the data of the statement, and the program that checks it. Their texts are not escaped
 * as HTML, because this program made both and they must not change.
 */
function embeddedScripts(statement: StatementDocument, script: string): string {
  // The JSON text of the statement is embedded as a JSON string, because the check needs the text character by
  // character.
  const json = JSON.stringify(renderJson(statement)).replaceAll('<', '\\u003c');
  return `<script type="application/json" id="statement">${json}</script>\n<script id="script">${script}</script>\n`;
}
