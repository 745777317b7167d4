import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CommitTree } from '../../src/billing/proof/salted-tree.ts';
import type { BilledLine } from '../../src/billing/statement/billed.ts';
import {
  type Letterhead,
  type StatementDocument,
  statementDocument,
  statementForTenant,
} from '../../src/billing/statement/document.ts';
import { pageScript } from '../../src/reports/statement/page-script.ts';
import { tenantPage } from '../../src/reports/statement/tenant-page.ts';
import { startBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Of what is shown, and of what proves it, so many are changed at least. */
const DIGITS = Number(process.env.TENANT_DIGITS ?? 12);
const HOSTILE = `</script><b>"'&\u202e\u{e0041}${'W'.repeat(200)}`;
const USAGE: BilledLine = {
  ...{ kind: 'usage', tier: 1, credits: 9_007_199_254_740_993n, unitCredits: 1000n, unitPrice: '1234.000000125' },
  ...{
    amountMinor: 123_456_789n,
    currency: 'EUR',
    rateCard: HOSTILE,
    correctsPeriod: null,
    entryId: null,
    reason: null,
    requests: null,
  },
};
const PLAIN: BilledLine = { ...USAGE, tier: null, credits: null, unitCredits: null, unitPrice: null };
const LINES: BilledLine[] = [
  { ...USAGE, tier: 0, credits: 100n, unitPrice: null, unitCredits: null, amountMinor: 0n },
  USAGE,
  { ...USAGE, tier: 2, unitCredits: 1n, unitPrice: '0.5', amountMinor: -5n },
  { ...PLAIN, kind: 'minimum', amountMinor: 100n },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-12', credits: -7n, amountMinor: -1_234n, currency: 'JPY' },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-11', credits: 7n, amountMinor: 9_999n, currency: 'KWD' },
  { ...PLAIN, kind: 'correction', correctsPeriod: '2025-10', amountMinor: null, currency: null, rateCard: null },
  { ...USAGE, tier: 0, credits: -3n, unitPrice: null, unitCredits: null, amountMinor: 0n },
];

/** What a tenant of a closed month is handed, and the digest of the close. */
function closedStatement(
  lines: readonly BilledLine[],
  name: string | null,
  letterhead: Letterhead | null = null,
): { document: StatementDocument; digest: string } {
  const header = { workspaceId: HOSTILE, period: '2026-01', certificate: null };
  const named = { tenantId: HOSTILE, displayName: name, externalRef: name, creditsUsed: 1_234_567n, requestCount: 12n };
  const tenant = { ...named, lines };
  const tree = new CommitTree('07'.repeat(32));
  tree.addPeriod(header);
  for (const one of [tenant, { ...tenant, tenantId: 'neighbour' }]) tree.addTenant(one);
  const { root } = tree;
  const at = '2026-02-03T00:00:00.000Z';
  const head = letterhead === null ? [] : [createHash('sha256').update(JSON.stringify(letterhead)).digest('hex')];
  const closeLine = JSON.stringify([
    '0'.repeat(64),
    7,
    'close',
    HOSTILE,
    '2026-01',
    at,
    'ab'.repeat(32),
    root,
    ...head,
  ]);
  const digest = createHash('sha256').update(`${closeLine}\n`).digest('hex');
  const statement = statementDocument({
    ...{ header, state: 'closed', asOf: at, headDigest: digest, tenantsInPeriod: 2 },
    tenants: [{ tenant, proof: tree.proofOfTenant(tenant), projection: null }],
    letterhead,
    proof: { closeLine, closeDigest: digest, root, internal: null },
  });
  return { document: statementForTenant(statement), digest };
}

/** Opens the page and enters a digest; gives the verdict and the steps. */
async function checker() {
  const look = await startBrowser();
  const folder = temporaryFolder();
  let pages = 0;
  return async (html: string, digest: string) => {
    pages += 1;
    const file = join(folder, `${pages}.html`);
    writeFileSync(file, html);
    const page = await look(`file://${file}`, 1280);
    const enter = `const field = document.getElementById('digest'); field.value = ${JSON.stringify(digest)}; field.dispatchEvent(new Event('input'))`;
    await page.evaluate(`(() => { ${enter} })()`);
    await eventually(async () => {
      expect(await page.evaluate("document.getElementById('verdict').className")).not.toBe('');
    });
    const read = async (expression: string) => String(await page.evaluate(expression));
    const verdict = await read("document.getElementById('verdict').textContent");
    const steps = await read("document.getElementById('steps').textContent");
    return { verdict, steps, page, file };
  };
}

test('the bill of a tenant proves itself in a browser without a network, and shows each step', async () => {
  const check = await checker();
  for (const [lines, name] of [
    [LINES, HOSTILE],
    [[], null],
  ] as const) {
    const { document, digest } = closedStatement(lines, name);
    const { verdict, steps, page, file } = await check(tenantPage(document, pageScript()), ` ${digest.toUpperCase()} `);
    expect(steps).not.toContain('NO: ');
    expect(steps).not.toContain('\u202e');
    expect(verdict).toBe('Authentic: this page shows what was closed, and nothing else.');
    expect(steps).toMatch(/the line of the close has the digest[\s\S]*leads to the root[\s\S]*that you were told/);
    expect(steps.match(/^(?:before|behind) [0-9a-f]{64}: [0-9a-f]{64}/gm)).toHaveLength(24);
    expect(page.complaints).toEqual([]);
    expect(page.requests).toEqual([`file://${file}`]);
    expect(await page.seriousFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
  }
});

test('a page with a letterhead proves itself, and one with another account at its foot does not', async () => {
  const check = await checker();
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`;
  const letterhead = { name: HOSTILE, address: [HOSTILE, '北京'], logo, footer: 'IBAN DE02', language: 'de' } as const;
  const { document, digest } = closedStatement(LINES, 'Acme', letterhead);
  const html = tenantPage(document, pageScript());
  const { verdict, page } = await check(html, digest);
  expect(verdict).toBe('Authentic: this page shows what was closed, and nothing else.');
  expect(page.complaints).toEqual([]);
  expect(await page.seriousFaults()).toEqual([]);
  expect((await check(html.replace('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('NOT authentic: the file');
  expect((await check(html.replaceAll('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('its letterhead is that');
});

test('it says so when another digest was told, and nothing before one is entered', async () => {
  const check = await checker();
  const { document, digest } = closedStatement(LINES, 'Acme');
  const html = tenantPage(document, pageScript());
  expect(html).toContain('Not checked: no digest was entered.');
  // Who reads the page cannot copy the digest from above the field that asks for it.
  const [shown = ''] = html.split('<script', 1);
  expect(shown).toContain('Digest of the close, 64 digits');
  expect(shown).not.toContain(digest);
  const { verdict } = await check(
    html,
    digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  );
  expect(verdict).toBe('NOT authentic: its close has another digest than you were told.');
  expect((await check(html, 'abc')).verdict).toBe('NOT authentic: its close has another digest than you were told.');
});

const PAY = 'Amount due 5,000.00, pay to IBAN DE02 1203 0000 0000 2020 51';

test.each<[what: string, was: string, becomes: string]>([
  ['a paragraph before the sheet', '<section>', `<p>${PAY}</p><section>`],
  ['a paragraph behind the script', '</main>', `<p>${PAY}</p></main>`],
  ['text in the explanation', 'Enter the digest', `${PAY}. Enter the digest`],
  ['a rule of its style', '</style>', `h1::before { content: "${PAY}"; }</style>`],
  [
    'a style of its own',
    '</head>',
    `<style>tfoot td { font-size: 0; } h1::after { content: "${PAY}"; }</style></head>`,
  ],
  ['a style at an element', '<tfoot>', '<tfoot style="display: none">'],
  ['a style at the root', '<html lang="en">', '<html lang="en" style="visibility: hidden">'],
  [
    'a place that lies over the sheet',
    '</body>',
    `<div style="position: fixed; inset: 0; background: #fff">${PAY}</div></body>`,
  ],
])('with %s that was not made with it, it says so and shows what was closed instead', async (_, was, becomes) => {
  const check = await checker();
  const { document, digest } = closedStatement(LINES, 'Acme');
  const html = tenantPage(document, pageScript());
  // Its script has some of the same words in it.
  const at = ['</main>', '</body>'].includes(was) ? html.lastIndexOf(was) : html.indexOf(was);
  expect(at).toBeGreaterThan(0);
  const forged = html.slice(0, at) + becomes + html.slice(at + was.length);
  const { verdict, page } = await check(forged, digest);
  expect(verdict).toMatch(/^NOT authentic: the file that you have opened shows something else/);
  const shown = `(() => {
    const made = new DOMParser().parseFromString(${JSON.stringify(html)}, 'text/html');
    const parts = (one) => [one.documentElement.getAttributeNames(), one.head.outerHTML, one.querySelector('section').outerHTML, one.body.childElementCount].join();
    return parts(made) === parts(document) && !document.documentElement.outerHTML.includes('IBAN');
  })()`;
  expect(await page.evaluate(shown)).toBe(true);
  // It was so of the file, whatever is entered since.
  await page.evaluate("document.getElementById('digest').dispatchEvent(new Event('input'))");
  await eventually(async () => {
    expect(await page.evaluate("document.getElementById('verdict').textContent")).toBe(verdict);
  });
});

test(
  'it fails visibly when any one digit of the sheet, the leaf, the way or the line is another one',
  async () => {
    const check = await checker();
    const { document, digest } = closedStatement(LINES, 'Acme');
    const html = tenantPage(document, pageScript());
    const from = html.indexOf('<section>');
    const proof = html.indexOf('id="statement"');
    const digits = [...html.matchAll(/\d/g)].map(({ index }) => index);
    const shown = digits.filter((at) => at > from && at < html.indexOf('<div id="prove">') && isText(html, at));
    const proven = digits.filter((at) => at > proof && at < html.indexOf('<script id="script">'));
    const every = (places: number[], count: number) =>
      places.filter((_, at) => at % Math.ceil(places.length / count) === 0);
    for (const at of [...every(shown, DIGITS), ...every(proven, DIGITS)]) {
      const changed = `${html.slice(0, at)}${(Number(html[at]) + 1) % 10}${html.slice(at + 1)}`;
      const { verdict } = await check(changed, digest);
      expect(verdict, html.slice(at - 30, at + 10)).toMatch(/^NOT authentic: /);
    }
  },
  Math.max(120_000, DIGITS * 10_000),
);

/** Between tags, and not in an attribute or an escape. */
function isText(html: string, at: number): boolean {
  return html.lastIndexOf('>', at) > html.lastIndexOf('<', at) && !/&#\d*$/.test(html.slice(0, at));
}
