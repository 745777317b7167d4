import { join } from 'node:path';
import { expect } from 'vitest';
import type { Look } from '../support/browser.ts';

export const HOSTILE = `</title></svg><script>document.title='run'</script><img src=//x.test/y onerror="document.title='run'">"'&${'W'.repeat(300)}\u202e`;
export const LARGE = 9_007_199_254_740_993n;
export const AT = '2026-02-20T12:00:00.000Z';

/** Opens a file at both widths, light and dark, and checks that it is readable, runs no script and requests nothing. */
export async function lookAt(look: Look, file: string, charts: number): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [1280, 375]) {
      const page = await look(`file://${file}`, width, scheme);
      const where = `at ${width}, ${scheme}`;
      expect(await page.evaluate("document.querySelectorAll('svg[role=img]').length")).toBe(charts);
      expect(await page.evaluate('document.scripts.length + document.images.length')).toBe(0);
      expect(await page.evaluate('document.title')).toContain('<script>');
      expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
      const isDark = await page.evaluate(
        'Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)) < 128',
      );
      expect(isDark, where).toBe(scheme === 'dark');
      await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
      expect(await page.seriousFaults(), where).toEqual([]);
      expect(page.complaints).toEqual([]);
      expect(page.requests.filter((request) => request !== `file://${file}`)).toEqual([]);
      if (SHOTS !== undefined) await page.screenshot(join(SHOTS, `${charts}-charts-${width}-${scheme}.png`));
    }
  }
}

const SHOTS = process.env.SCREENSHOTS;
