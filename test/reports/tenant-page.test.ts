import { expect, test } from 'vitest';
import { pageScript } from '../../src/reports/statement/page-script.ts';
import { tenantPage } from '../../src/reports/statement/tenant-page.ts';
import { browserOfFile } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { checker, closedStatement, HOSTILE, LINES } from './closed-statement.ts';

const look = browserOfFile();

test("a tenant's statement verifies itself in a browser without a network and shows each step", async () => {
  const check = checker(look);
  for (const [lines, name] of [
    [LINES, HOSTILE],
    [[], null],
  ] as const) {
    const { document, digest } = closedStatement(lines, name);
    const { verdict, steps, page, file } = await check(tenantPage(document, pageScript()), ` ${digest.toUpperCase()} `);
    expect(steps).not.toContain('NO: ');
    expect(steps).not.toContain('\u202e');
    expect(verdict).toBe('Authentic: this page shows exactly the closed statement.');
    expect(steps).toMatch(/the close line has the named digest[\s\S]*leads to the root[\s\S]*that you entered/);
    expect(steps.match(/^(?:left|right) of [0-9a-f]{64}: [0-9a-f]{64}/gm)).toHaveLength(24);
    expect(page.complaints).toEqual([]);
    expect(page.requests).toEqual([`file://${file}`]);
    expect(await page.seriousFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
  }
});

test('a page with a letterhead verifies itself, and fails with another account in its footer', async () => {
  const check = checker(look);
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`;
  const letterhead = { name: HOSTILE, address: [HOSTILE, '北京'], logo, footer: 'IBAN DE02', language: 'de' } as const;
  const { document, digest } = closedStatement(LINES, 'Acme', letterhead);
  const html = tenantPage(document, pageScript());
  const { verdict, page } = await check(html, digest);
  expect(verdict).toBe('Authentic: this page shows exactly the closed statement.');
  expect(page.complaints).toEqual([]);
  expect(await page.seriousFaults()).toEqual([]);
  expect((await check(html.replace('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('NOT authentic: the file');
  expect((await check(html.replaceAll('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('the letterhead matches');
});

test('it rejects another digest, and shows nothing before one is entered', async () => {
  const check = checker(look);
  const { document, digest } = closedStatement(LINES, 'Acme');
  const html = tenantPage(document, pageScript());
  expect(html).toContain('Not checked: enter the digest of the close.');
  // Readers must not be able to copy the digest from the page.
  const [shown = ''] = html.split('<script', 1);
  expect(shown).toContain('Digest of the close, 64 digits');
  expect(shown).not.toContain(digest);
  const { verdict } = await check(
    html,
    digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  );
  expect(verdict).toBe('NOT authentic: the digest of its close does not match the one that you entered.');
  expect((await check(html, 'abc')).verdict).toBe(
    'NOT authentic: the digest of its close does not match the one that you entered.',
  );
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
  const check = checker(look);
  const { document, digest } = closedStatement(LINES, 'Acme');
  const html = tenantPage(document, pageScript());
  // The script contains some of the same words.
  const at = ['</main>', '</body>'].includes(was) ? html.lastIndexOf(was) : html.indexOf(was);
  expect(at).toBeGreaterThan(0);
  const forged = html.slice(0, at) + becomes + html.slice(at + was.length);
  const { verdict, page } = await check(forged, digest);
  expect(verdict).toMatch(/^NOT authentic: the file that you opened differs from the closed statement/);
  const shown = `(() => {
    const made = new DOMParser().parseFromString(${JSON.stringify(html)}, 'text/html');
    const parts = (one) => [one.documentElement.getAttributeNames(), one.head.outerHTML, one.querySelector('section').outerHTML, one.body.childElementCount].join();
    return parts(made) === parts(document) && !document.documentElement.outerHTML.includes('IBAN');
  })()`;
  expect(await page.evaluate(shown)).toBe(true);
  // The verdict on the opened file stays after further input.
  await page.evaluate("document.getElementById('digest').dispatchEvent(new Event('input'))");
  await eventually(async () => {
    expect(await page.evaluate("document.getElementById('verdict').textContent")).toBe(verdict);
  });
});
