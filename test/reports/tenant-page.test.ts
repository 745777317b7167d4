import { expect, test } from 'vitest';
import { pageAssets } from '../../src/reports/statement/page-assets.ts';
import { tenantPage } from '../../src/reports/statement/tenant-page.tsx';
import { browserOfFile } from '../support/browser.ts';
import { checker, closedStatement, HOSTILE, LINES } from './closed-statement.ts';

const look = browserOfFile();

test("a tenant's statement verifies itself in a browser without a network and shows each step", async () => {
  const check = checker(look);
  for (const [lines, name] of [
    [LINES, HOSTILE],
    [[], null],
  ] as const) {
    const { document, digest } = closedStatement(lines, name);
    const { verdict, steps, page, file } = await check(tenantPage(document, pageAssets()), ` ${digest.toUpperCase()} `);
    expect(steps).not.toContain('NO: ');
    expect(steps).not.toContain('\u202e');
    expect(verdict).toBe('Authentic: this page shows exactly the closed statement.');
    expect(steps).toMatch(
      /the hash of the close line is the close digest in the statement[\s\S]*leads to the root[\s\S]*that you entered/,
    );
    expect(steps.match(/^hashed to the (?:left|right) of [0-9a-f]{64}, giving [0-9a-f]{64}/gm)).toHaveLength(24);
    expect(page.complaints).toEqual([]);
    expect(page.requests).toEqual([`file://${file}`]);
    expect(await page.seriousFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
  }
});

test('it rejects another digest, and shows nothing before one is entered', async () => {
  const check = checker(look);
  const { document, digest } = closedStatement(LINES, 'Acme');
  const html = tenantPage(document, pageAssets());
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
