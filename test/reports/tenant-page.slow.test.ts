import { expect, test } from 'vitest';
import { pageScript } from '../../src/reports/statement/page-script.ts';
import { tenantPage } from '../../src/reports/statement/tenant-page.ts';
import { browserOfFile } from '../support/browser.ts';
import { checker, closedStatement, LINES } from './closed-statement.ts';

const look = browserOfFile();

/** The minimum number of changes to try in the shown text and in the proof. */
const DIGITS = Number(process.env.TENANT_DIGITS ?? 12);

test(
  'it fails visibly when any one digit of the sheet, the leaf, the way or the line is another one',
  async () => {
    const check = checker(look);
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

/** Reports whether the character is between tags, outside attributes and escapes. */
function isText(html: string, at: number): boolean {
  return html.lastIndexOf('>', at) > html.lastIndexOf('<', at) && !/&#\d*$/.test(html.slice(0, at));
}
