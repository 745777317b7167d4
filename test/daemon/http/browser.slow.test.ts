import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { freePort } from '../../queue/support.ts';
import { startBrowser } from '../../support/browser.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { CLI, startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';

/** Elements that reach beyond the right edge of the window, by their text, unless they scroll inside another one. */
const OVERFLOWING = `[...document.querySelectorAll('body *')].filter((element) => {
  const { right, width } = element.getBoundingClientRect();
  if (width === 0 || right <= window.innerWidth + 1 || getComputedStyle(element).position === 'fixed') return false;
  for (let outer = element.parentElement; outer !== document.body; outer = outer.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(outer).overflowX)) return false;
  }
  return true;
}).map((element) => element.tagName + ' ' + element.textContent.slice(0, 40)).slice(0, 5)`;
const SCROLLS = 'document.documentElement.scrollWidth > window.innerWidth';

/** A daemon with two workspaces, of which one is refused by the service, as soon as both have had a run. */
async function startDaemon(): Promise<{ url: string; link: string; folder: string }> {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const port = await freePort();
  const workspace = { base_url: sandbox.url, embed_url: sandbox.url, api_key_id: 'ak_sandbox' };
  const folder = daemonFolder(sandbox, {
    http: { port },
    defaults: { cron: '* * * * *' },
    workspaces: [
      {
        ...workspace,
        id: 'ws-sandbox',
        name: 'Production of the northern region',
        secret_key: 'sk_sandbox_not_a_secret',
      },
      { ...workspace, id: '0f8fad5b-d9cb-469f-a165-70867728950e', name: 'Trial', secret_key: 'sk_wrong_not_a_secret' },
    ],
  });
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  await daemon.line('run applied', 60_000);
  await daemon.line('run failed, the slot will be tried again', 60_000);
  const { stdout: link } = await promisify(execFile)(process.execPath, [CLI, 'open'], { cwd: folder });
  return { url: `http://127.0.0.1:${port}`, link: link.trim(), folder };
}

describe('in a browser', () => {
  it('the page / and the queue board are readable at 1400 and 420 pixels, without browser errors', {
    timeout: 180_000,
  }, async () => {
    const { url, link, folder } = await startDaemon();
    const look = await startBrowser();
    const shots = process.env.SCREENSHOTS ?? folder;
    for (const width of [1400, 420]) {
      // The browser keeps the token: the board, opened after it, is asked for without.
      const page = await look(link, width);
      expect(await page.evaluate('location.href')).toBe(`${url}/`);
      const text = String(await page.evaluate('document.body.innerText'));
      expect(text).toContain('Production of the northern region');
      expect(text).toContain('Needs attention');
      expect(text).toMatch(/Trial: never read completely/);
      expect(await page.evaluate(OVERFLOWING), `at ${width}`).toEqual([]);
      expect(await page.evaluate(SCROLLS), `at ${width}`).toBe(false);
      expect(page.complaints).toEqual([]);
      expect(page.requests.filter((request) => !request.startsWith(url) && !request.startsWith('data:'))).toEqual([]);
      await page.screenshot(join(shots, `overview-${width}.png`));

      const board = await look(`${url}/admin/queues`, width);
      await eventually(async () => {
        const words = String(await board.evaluate('document.body.innerText'));
        expect(words).toMatch(/\bsync\b/);
        expect(words).not.toMatch(/ul-[\w-]{8,}-sync/);
      });
      expect(await board.evaluate(SCROLLS), `board at ${width}`).toBe(false);
      expect(board.complaints).toEqual([]);
      expect(board.requests.filter((request) => !request.startsWith(url) && !/^(data|blob):/.test(request))).toEqual(
        [],
      );
      await board.screenshot(join(shots, `board-${width}.png`));
    }
  });
});
