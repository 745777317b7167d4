import { inertText } from '../../core/text/inert-text.ts';
import { type Sha256, toUtf8 } from '../../verifier/hashes.ts';
import { type VerifyStep, verifyStatement } from '../../verifier/verify-statement.ts';
import { NOT_CHECKED, tenantPage } from './tenant-page.tsx';

/** The members of a DOM element that this script uses. */
interface PageElement {
  textContent: string;
  className: string;
  removeAttribute(name: 'class'): void;
  value: string;
  append(...inside: (PageElement | string)[]): void;
  replaceChildren(...inside: PageElement[]): void;
  replaceWith(other: PageElement): void;
  isEqualNode(other: PageElement): boolean;
  addEventListener(event: 'input', listener: () => void): void;
  focus(): void;
}
interface PageDocument {
  documentElement: PageElement;
  getElementById(id: string): PageElement;
  createElement(name: string): PageElement;
}
declare const document: PageDocument;
/** The text of the page's style sheet. The build inserts it here. */
declare const STATEMENT_STYLE: string;
declare const DOMParser: new () => { parseFromString(html: string, type: 'text/html'): PageDocument };

const AUTHENTIC = 'Authentic: this page shows exactly the closed statement.';
const ALTERED =
  'NOT authentic: the file that you opened differs from the closed statement. The differences were removed: ' +
  'this page now shows the closed statement.';

const elementById = (id: string): PageElement => document.getElementById(id);
const browserSha256: Sha256 = async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', data));

const statementText = JSON.parse(elementById('statement').textContent) as string;
const scriptText = elementById('script').textContent;
/** True if the page, as the reader opened it, differed from the closed statement; null until the first check. */
let wasAltered: boolean | null = null;
let last = Promise.resolve();
listen();

function listen(): void {
  elementById('digest').addEventListener('input', () => {
    last = last.then(check);
  });
}

async function check(): Promise<void> {
  const expected = elementById('digest').value.trim().toLowerCase();
  if (expected === '') {
    showVerdict(NOT_CHECKED, null, []);
    return;
  }
  const verdict = await verifyStatement(statementText, browserSha256);
  const isMatch = verdict.isConsistent && verdict.closeDigest === expected;
  const steps = [...verdict.steps];
  if (verdict.isConsistent)
    steps.push({ check: 'the digest matches the one that you entered', passed: isMatch, detail: expected });
  if (!verdict.isConsistent) {
    showVerdict(`NOT authentic: ${inertText(verdict.reason)}.`, 'bad', steps);
  } else if (!isMatch) {
    showVerdict('NOT authentic: the digest of its close does not match the one that you entered.', 'bad', steps);
  } else {
    const assets = { style: STATEMENT_STYLE, script: scriptText, scriptHash: await base64Hash(scriptText) };
    await rebuildPage(tenantPage(verdict.statement, assets));
    showVerdict(wasAltered ? ALTERED : AUTHENTIC, wasAltered ? 'bad' : 'good', steps);
  }
}

/** Replaces the whole page, head and body, with a page that is built from the verified statement. */
async function rebuildPage(html: string): Promise<void> {
  const rebuilt = new DOMParser().parseFromString(html, 'text/html').documentElement;
  const entered = elementById('digest').value;
  showVerdict(NOT_CHECKED, null, []);
  wasAltered ??= !document.documentElement.isEqualNode(rebuilt);
  document.documentElement.replaceWith(rebuilt);
  elementById('digest').value = entered;
  elementById('digest').focus();
  listen();
}

async function base64Hash(text: string): Promise<string> {
  return btoa(String.fromCharCode(...(await browserSha256(toUtf8(text)))));
}

function showVerdict(words: string, tone: 'good' | 'bad' | null, steps: readonly VerifyStep[]): void {
  elementById('verdict').textContent = words;
  if (tone === null) elementById('verdict').removeAttribute('class');
  else elementById('verdict').className = `notice ${tone}`;
  elementById('steps').replaceChildren(...steps.map(stepElement));
}

function stepElement({ check, passed, detail }: VerifyStep): PageElement {
  const item = document.createElement('li');
  item.append(`${passed ? 'Yes' : 'NO'}: ${inertText(check)}`);
  if (detail !== '') {
    const shown = document.createElement('pre');
    shown.append(detail.split('\n').map(inertText).join('\n'));
    item.append(shown);
  }
  return item;
}
