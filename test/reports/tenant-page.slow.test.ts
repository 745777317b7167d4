import { expect, test } from 'vitest';
import { pageAssets } from '../../src/reports/statement/page-assets.ts';
import { tenantPage } from '../../src/reports/statement/tenant-page.tsx';
import { browserOfFile } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { checker, closedStatement, HOSTILE, LINES } from './closed-statement.ts';

const look = browserOfFile();

/** The minimum number of changes to try in the shown text and in the proof. */
const DIGITS = Number(process.env.TENANT_DIGITS ?? 12);

test(
  'it fails visibly when any one digit of the sheet, the leaf, the way or the line is another one',
  async () => {
    const check = checker(look);
    const { document, digest } = closedStatement(LINES, 'Acme');
    const html = tenantPage(document, pageAssets());
    const from = html.indexOf('<section>');
    const proof = html.indexOf('id="statement"');
    const digits = [...html.matchAll(/\d/g)].map(({ index }) => index);
    const shown = digits.filter((at) => at > from && at < html.indexOf('<div id="prove"') && isText(html, at));
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

/** Reports whether the character is between tags, outside attributes and escapes. */
function isText(html: string, at: number): boolean {
  return html.lastIndexOf('>', at) > html.lastIndexOf('<', at) && !/&#\d*$/.test(html.slice(0, at));
}

test('a page with a letterhead verifies itself, and fails with another account in its footer', async () => {
  const check = checker(look);
  const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`;
  const letterhead = { name: HOSTILE, address: [HOSTILE, '北京'], logo, footer: 'IBAN DE02', language: 'de' } as const;
  const { document, digest } = closedStatement(LINES, 'Acme', letterhead);
  const html = tenantPage(document, pageAssets());
  const { verdict, page } = await check(html, digest);
  expect(verdict).toBe('Authentic: this page shows exactly the closed statement.');
  expect(page.complaints).toEqual([]);
  expect(await page.seriousFaults()).toEqual([]);
  expect((await check(html.replace('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('NOT authentic: the file');
  expect((await check(html.replaceAll('IBAN DE02', 'IBAN DE99'), digest)).verdict).toContain('the letterhead matches');
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
  const html = tenantPage(document, pageAssets());
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
