import { inertText } from '../../core/text/inert-text.ts';
import { type Sha256, utf8 } from '../../verifier/hashes.ts';
import { type VerifyStep, verifyStatement } from '../../verifier/verify-statement.ts';
import { NOT_CHECKED, tenantPage } from './tenant-page.ts';

/** As much of a browser as the page needs. */
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
interface Page {
  documentElement: PageElement;
  getElementById(id: string): PageElement;
  createElement(name: string): PageElement;
}
declare const document: Page;
declare const DOMParser: new () => { parseFromString(html: string, type: 'text/html'): Page };

const AUTHENTIC = 'Authentic: this page shows what was closed, and nothing else.';
const ALTERED =
  'NOT authentic: the file that you have opened shows something else than what was closed, or more. That was taken away: ' +
  'what stands here now is what was closed.';

const byId = (id: string): PageElement => document.getElementById(id);
const sha256: Sha256 = async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', data));

const statementText = JSON.parse(byId('statement').textContent) as string;
const scriptText = byId('script').textContent;
/** Whether the page as it was opened showed something else than what was closed; null until that is known. */
let wasAltered: boolean | null = null;
let last = Promise.resolve();
listen();

function listen(): void {
  byId('digest').addEventListener('input', () => {
    last = last.then(check);
  });
}

async function check(): Promise<void> {
  const kept = byId('digest').value.trim().toLowerCase();
  if (kept === '') {
    show(NOT_CHECKED, '', []);
    return;
  }
  const verdict = await verifyStatement(statementText, sha256);
  const isExpected = verdict.isConsistent && verdict.closeDigest === kept;
  const steps = [...verdict.steps];
  if (verdict.isConsistent)
    steps.push({ check: 'the digest matches the one that you entered', passed: isExpected, detail: kept });
  if (!verdict.isConsistent) {
    show(`NOT authentic: ${inertText(verdict.reason)}.`, 'refused', steps);
  } else if (!isExpected) {
    show('NOT authentic: the digest of its close does not match the one that you entered.', 'refused', steps);
  } else {
    await makeAnew(tenantPage(verdict.statement, { text: scriptText, sha256: await base64Hash(scriptText) }));
    show(wasAltered ? ALTERED : AUTHENTIC, wasAltered ? 'refused' : 'proven', steps);
  }
}

/** Puts the page that follows from what was closed in the place of this one, whatever that shows, in its head and body alike. */
async function makeAnew(html: string): Promise<void> {
  const made = new DOMParser().parseFromString(html, 'text/html').documentElement;
  const entered = byId('digest').value;
  show(NOT_CHECKED, '', []);
  wasAltered ??= !document.documentElement.isEqualNode(made);
  document.documentElement.replaceWith(made);
  byId('digest').value = entered;
  byId('digest').focus();
  listen();
}

async function base64Hash(text: string): Promise<string> {
  return btoa(String.fromCharCode(...(await sha256(utf8(text)))));
}

function show(words: string, name: string, steps: readonly VerifyStep[]): void {
  byId('verdict').textContent = words;
  if (name === '') byId('verdict').removeAttribute('class');
  else byId('verdict').className = name;
  byId('steps').replaceChildren(...steps.map(listed));
}

function listed({ check, passed, detail }: VerifyStep): PageElement {
  const item = document.createElement('li');
  item.append(`${passed ? 'Yes' : 'NO'}: ${inertText(check)}`);
  if (detail !== '') {
    const shown = document.createElement('pre');
    shown.append(detail.split('\n').map(inertText).join('\n'));
    item.append(shown);
  }
  return item;
}
