import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createReportMaker, type ReportMaker } from '../../../src/daemon/http/reports/report-maker.ts';
import { createWorld, row, type World, workspaceSettings } from '../../commands/world.ts';
import { browserOfFile, type Looked } from '../../support/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { serveConsole, TOKENS } from './served-console.ts';

const HOSTILE = `</title><script>document.title='run'</script><img src=//x.test/y onerror="document.title='run'">`;
const ALERTS = 30;
const SHOTS = process.env.SCREENSHOTS;
const look = browserOfFile();
const tokenOf = (role: string): string => TOKENS.find((token) => token.role === role)?.token ?? '';

/** Thirty workspaces with one tenant that jumps beside a large steady one; one of those that jump has a hostile id. */
async function jumps(): Promise<World> {
  const workspaces = Array.from({ length: ALERTS }, (_, at) => {
    const id = at === 0 ? HOSTILE : `tenant-${at}`;
    const months = ['2025-12', '2026-01', '2026-02'];
    const steady = months.map((month) => row('whale', month, 9_000_000));
    return {
      id: `ws-${at + 1}`,
      api_key_id: `ak_${at}`,
      secret_key: `sk_${at}_not_a_secret`,
      usage: [row(id, '2025-12', 1000), row(id, '2026-01', 1000), row(id, '2026-02', 5000), ...steady],
    };
  });
  const world = await createWorld(...workspaces);
  world.configure({ workspaces: workspaces.map((workspace) => workspaceSettings(world.sandbox, workspace)) });
  await world.run('sync');
  // Alerts of the first sync are no news: they grow in the second one.
  world.clock.nowMs += 3_600_000;
  for (const { id, usage } of workspaces) {
    const tenantId = usage[0]?.tenant_id ?? '';
    world.sandbox.workspace(id).set({ tenantId, period: '2026-02', credits: 60_000, requests: 12 });
  }
  await world.run('sync');
  return world;
}

/** Draws reports in their thread, until the test ends. */
function reportsOf({ ledgerPath }: World): ReportMaker {
  const maker = createReportMaker({ ledgerPath, head: () => 'the same' });
  onTestFinished(() => maker.stop());
  return maker;
}

const acknowledged = (world: World) =>
  (world.query("SELECT count(*) AS n FROM finance_alerts WHERE state = 'acknowledged'") as { n: number }[])[0]?.n;

async function type(page: Looked, text: string): Promise<void> {
  for (const character of text) await page.press(character);
}

/** Moves the focus with the Tab key until an element has it. */
async function tabTo(page: Looked, selector: string): Promise<void> {
  for (let steps = 0; steps < 200; steps += 1) {
    await page.press('Tab');
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)) return;
  }
  throw new Error(`the Tab key never reaches ${selector}`);
}

describe('in a browser', { timeout: 400_000 }, () => {
  it('thirty alerts are acknowledged at once with the pointer', async () => {
    const world = await jumps();
    const { url } = await serveConsole(world);
    const page = await look(`${url}/alerts?token=${tokenOf('operate')}`, 1440);
    await page.click('input[data-all]');
    expect(await page.evaluate("document.querySelector('.count').textContent")).toBe('30 selected');
    await page.click('input[name="person"]');
    await type(page, 'Ada');
    await page.click('.actions button.main');
    await eventually(async () =>
      expect(await page.evaluate("document.querySelector('[role=status]')?.textContent")).toBe(
        '30 alerts acknowledged.',
      ),
    );
    expect(acknowledged(world)).toBe(ALERTS);
    expect(page.complaints).toEqual([]);
  });

  it('an alert is opened and acknowledged with the keyboard alone', async () => {
    const world = await jumps();
    const { url } = await serveConsole(world);
    const page = await look(`${url}/alerts?token=${tokenOf('operate')}`, 1440);
    await tabTo(page, 'tbody tr:nth-child(2) th a');
    await page.press('Enter');
    await eventually(async () => expect(await page.evaluate('location.pathname')).toMatch(/^\/alerts\/alert_/));
    await tabTo(page, 'input[name="note"]');
    await type(page, 'seen');
    await tabTo(page, 'input[name="person"]');
    await type(page, 'Ada');
    await page.press('Enter');
    await eventually(async () =>
      expect(String(await page.evaluate("document.querySelector('[role=status]')?.textContent"))).toContain(
        'Acknowledged',
      ),
    );
    expect(acknowledged(world)).toBe(1);
  });

  it('every page is readable at 360, 768 and 1440 px, light and dark, runs no foreign script and has no violation', async () => {
    const world = await jumps();
    const { url } = await serveConsole(world, { reports: reportsOf(world) });
    const [alert] = world.query("SELECT alert_id FROM finance_alerts WHERE tenant_id LIKE '</title>%'") as {
      alert_id: string;
    }[];
    const tenant = `/tenants/ws-1/${encodeURIComponent(HOSTILE)}`;
    const paths = ['/', '/alerts', `/alerts/${alert?.alert_id}`, '/alerts/silences', '/tenants', tenant];
    paths.push('/months', '/months/2026-01', '/money', '/runs', '/system', '/alerts/alert_none', '/sign-in');
    paths.push(
      '/report',
      '/report?workspace=ws-1',
      `/report/tenant?workspace=ws-1&tenant=${encodeURIComponent(HOSTILE)}`,
    );
    await look(`${url}/?token=${tokenOf('finance')}`, 1440);
    for (const path of paths) {
      for (const scheme of ['light', 'dark'] as const) {
        for (const width of [360, 768, 1440]) {
          const page = await look(`${url}${path}`, width, scheme);
          const where = `${path} at ${width}, ${scheme}`;
          expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
          expect(await page.evaluate('document.title'), where).not.toBe('run');
          expect(await page.seriousFaults(), where).toEqual([]);
          expect(
            page.requests.filter((request) => !request.startsWith(url) && !request.startsWith('data:')),
            where,
          ).toEqual([]);
          const name = path.replaceAll(/[^a-z]+/g, '-').slice(0, 30);
          if (SHOTS !== undefined) await page.screenshot(join(SHOTS, `console${name}-${width}-${scheme}.png`));
        }
      }
    }
  });
});
