// cspell:ignore formaction

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { World } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { browserOfFile, type Looked } from '../../support/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { serveConsole, TOKENS } from './served-console.ts';
import { oidcSettings, workspacesOf } from './sign-in/sign-in-provider.ts';

const SHOTS = process.env.SCREENSHOTS;
const look = browserOfFile();
const tokenOf = (role: string): string => TOKENS.find((token) => token.role === role)?.token ?? '';

async function type(page: Looked, text: string): Promise<void> {
  for (const character of text) await page.press(character);
}

const at = (page: Looked, path: string): Promise<void> =>
  eventually(async () => expect(await page.evaluate('location.pathname + location.search')).toBe(path));

const shown = (page: Looked, text: string): Promise<void> =>
  eventually(async () => expect(String(await page.evaluate('document.body.innerText'))).toContain(text));

async function tabTo(page: Looked, selector: string): Promise<void> {
  for (let steps = 0; steps < 300; steps += 1) {
    await page.press('Tab');
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)) return;
  }
  throw new Error(`the Tab key never reaches ${selector}`);
}

async function worldInKolkata(): Promise<World> {
  const world = await ledgerOfOperations();
  world.configure({ timezone: 'Asia/Kolkata', workspaces: workspacesOf(world) });
  return world;
}

/** What a person can operate, one of each group of radio buttons, in the order of the page. */
const OPERABLE = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  .filter((element) => element.checkVisibility() && !element.disabled && element.type !== 'hidden')
  .filter((element, _, all) => element.type !== 'radio' || element ===
    (all.find(({ name, checked }) => name === element.name && checked) ?? all.find(({ name }) => name === element.name)))`;

describe('without JavaScript', { timeout: 400_000 }, () => {
  it('people sign in, filter, acknowledge, choose a time zone and sign out', async () => {
    const { url } = await serveConsole(await worldInKolkata());
    const page = await look(`${url}/sign-in?next=/alerts`, 1440, 'light', { withoutScripts: true });
    await page.click('input[name="token"]');
    await type(page, tokenOf('operate'));
    await page.click('input[name="person"]');
    await type(page, 'Ada');
    await page.press('Enter');
    await at(page, '/alerts');
    // What only the script can do is not offered.
    expect(await page.evaluate("document.querySelector('[data-all]').closest('[hidden]') !== null")).toBe(true);
    await page.click('form.filters button');
    await eventually(async () => expect(await page.evaluate('location.search')).toContain('state='));
    await page.click('input[name="id"]');
    await page.click('.actions button.main');
    await shown(page, '1 alert acknowledged.');
    await tabTo(page, 'select[name="zone"]');
    await page.press('U');
    await tabTo(page, '.zone button');
    await page.press('Enter');
    await eventually(async () =>
      expect(await page.evaluate("document.querySelector('[name=zone] option[selected]').value")).toBe('UTC'),
    );
    await page.click('.who button');
    await at(page, '/sign-in');
    expect(page.complaints).toEqual([]);
  });

  it('a closed month is reopened with a note', async () => {
    const world = await worldInKolkata();
    const { url } = await serveConsole(world);
    const page = await look(`${url}/months/2026-01?token=${tokenOf('finance')}`, 1440, 'light', {
      withoutScripts: true,
    });
    await at(page, '/months/2026-01');
    await page.click('input[name="id"][value="ws-1"]');
    await page.click('input[name="note"]');
    await type(page, 'again');
    await page.click('input[name="person"]');
    await type(page, 'Ada');
    await page.click('button[formaction$="/reopen"]');
    await shown(page, '1 workspace reopened.');
    expect(page.complaints).toEqual([]);
  });
});

describe('with the keyboard alone', { timeout: 400_000 }, () => {
  it('the Tab key reaches everything on every page, in its order, with a visible focus', async () => {
    const world = await worldInKolkata();
    const { url } = await serveConsole(world);
    const [alert] = world.query("SELECT alert_id FROM finance_alerts WHERE state = 'firing'") as { alert_id: string }[];
    const paths = ['/', '/alerts', `/alerts/${alert?.alert_id}`, '/alerts/silences', '/tenants', '/tenants/ws-1/acme'];
    paths.push('/months', '/months/2026-01', '/money', '/runs', '/system', '/report');
    await look(`${url}/?token=${tokenOf('finance')}`, 1440);
    for (const path of paths) {
      const page = await look(`${url}${path}`, 1440);
      const all = Number(await page.evaluate(`(window.operable = ${OPERABLE}).length`));
      const reached: number[] = [];
      const blind: unknown[] = [];
      // A date has a stop for each of its parts.
      for (let step = 0; step < 4 * all && reached.at(-1) !== all - 1; step += 1) {
        await page.press('Tab');
        const [index, outline, html] = (await page.evaluate(`[window.operable.indexOf(document.activeElement),
          getComputedStyle(document.activeElement).outlineStyle, document.activeElement.outerHTML.slice(0, 90)]`)) as [
          number,
          string,
          string,
        ];
        if (reached.at(-1) !== index) reached.push(index);
        if (outline === 'none') blind.push(html);
      }
      expect([path, blind]).toEqual([path, []]);
      expect([path, reached]).toEqual([path, Array.from({ length: all }, (_, index) => index)]);
    }
  });
});

describe('for strangers', { timeout: 100_000 }, () => {
  it('the pages of the sign-in are readable at 360 and 1440 px, light and dark, and have no violation', async () => {
    const world = await ledgerOfOperations();
    const oidc = oidcSettings('http://127.0.0.1:1');
    world.configure({ http: { oidc }, workspaces: workspacesOf(world) });
    const { url } = await serveConsole(world);
    for (const path of ['/sign-in', '/sign-in/provider', '/sign-in/callback']) {
      for (const [width, scheme] of [
        [360, 'dark'],
        [1440, 'light'],
      ] as const) {
        const page = await look(`${url}${path}`, width, scheme);
        const where = `${path} at ${width}, ${scheme}`;
        expect(String(await page.evaluate('document.body.innerText')), where).toContain('Sign in with 127.0.0.1:1');
        expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
        expect(await page.seriousFaults(), where).toEqual([]);
        if (SHOTS !== undefined)
          await page.screenshot(join(SHOTS, `stranger${path.replaceAll('/', '-')}-${width}.png`));
      }
    }
  });
});
