import { expect, it } from 'vitest';
import { textWidth } from '../../../src/reports/formats/table.ts';
import { ACTIVE, HOSTILE_NAMES } from '../../alerts/channels/hostile.ts';
import { createWorld, FIRST, parseJson, row, type World } from '../world.ts';

const WIDTH = 80;
const NAMES = [...HOSTILE_NAMES, 'x'.repeat(500), '\u{1f980}'.repeat(120), '名前 '.repeat(60).trim()];

it('every screen of an alert fits 80 columns and lets no name act', async () => {
  const world = await worldOf(NAMES);
  const list = await onTerminal(world, 'alerts', '--rule', 'jump');
  expect(list.split('\n').filter((line) => /^ +CRIT {2}2026-/.test(line))).toHaveLength(NAMES.length);
  expect(textsWider(list)).toEqual([]);
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  for (const { alert_id } of alerts) {
    for (const screen of ['explain', 'show']) {
      const out = await onTerminal(world, 'alerts', screen, alert_id);
      expect(textsWider(out)).toEqual([]);
      expect(out.replaceAll('\n', '')).not.toMatch(ACTIVE);
    }
  }
});

it('shows the notified and the current figures side by side, and one column when they are equal', async () => {
  const world = await worldOf(['acme']);
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  const id = String(alerts[0].alert_id);
  const once = await onTerminal(world, 'alerts', 'explain', id);
  expect(once).toMatch(/^Credits 2026-02 +50,000$/m);
  expect(once).toMatch(/^Credits 2026-01 +10,000$/m);
  const narrow = (await world.runOnTerminal(60, 'alerts', 'explain', id)).out;
  const [, next = ''] = narrow.split('\nNext steps\n');
  // A shell takes these lines as they are.
  expect(next.replaceAll(/ \\\n +/g, ' ').trimEnd()).toBe(
    once
      .split('\nNext steps\n')[1]
      ?.replaceAll(/ \\\n +/g, ' ')
      .trimEnd(),
  );

  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 60_000, requests: 40 });
  moveTo(world, Date.UTC(2026, 1, 20, 18));
  await world.run('sync');
  const later = await onTerminal(world, 'alerts', 'explain', id);
  expect(later).toMatch(/^ +Notified 2026-02-20 12:00 +Now, 2026-02-20 18:00 UTC$/m);
  expect(later).toMatch(/^Credits 2026-02 +50,000 +60,000$/m);
  expect(later).toMatch(/^Limit +15,000 +15,000$/m);
  expect(later).toContain('acme (ws-1): 60,000 credits in February');
  // What is said of today is worked out from the figures of today.
  expect(later).toContain('A day       3,038 credits in 2026-02, 323 in 2026-01');
  expect(parseJson((await world.run('alerts', '--json')).out).alerts[0].at_stake_credits).toBe(
    parseJson((await world.run('alerts', 'explain', id, '--json')).out).now.evidence.at_stake_credits,
  );
});

it('lists a jump until its month has settled, and later on demand only', async () => {
  const world = await worldOf(['acme']);
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  const id = String(alerts[0].alert_id);
  moveTo(world, Date.UTC(2026, 2, 3, 12));
  await world.run('sync');
  const open = async (...argv: string[]) =>
    parseJson((await world.run('alerts', 'list', '--json', ...argv)).out).alerts;
  expect(await open()).toEqual([]);
  expect(await open('--all')).toContainEqual(expect.objectContaining({ alert_id: id, level: 'settled' }));
  expect((await world.run('status', '--json')).out).toContain('"open_alerts": 0');
});

it('says of a pace what was told as long as nothing has changed, and by what its month heads for', {
  timeout: 120_000,
}, async () => {
  const usage = [row('acme', '2025-11', 5_000), row('acme', '2025-12', 5_000)];
  const world = await createWorld({ ...FIRST, usage });
  moveTo(world, Date.UTC(2026, 0, 1));
  await world.run('sync', '--from', '2025-11');
  // January is even, and February has two and a half times as much for longer than a burst lasts.
  const readings = [
    ...[195, 390, 585, 780, 975, 1_170].map((credits, day) => ({ period: '2026-01', day: day + 2, credits })),
    { period: '2026-01', day: 32, credits: 6_000 },
    ...Array.from({ length: 12 }, (_, day) => ({ period: '2026-02', day: day + 2, credits: 500 * (day + 1) })),
  ];
  for (const { period, day, credits } of readings) {
    moveTo(world, Date.parse(`${period}-01`) + (day - 1) * 86_400_000);
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period, credits, requests: credits / 5 });
    await world.run('sync');
  }
  const { alerts } = parseJson((await world.run('alerts', '--json')).out);
  expect(alerts).toMatchObject([{ rule: 'jump', level: 'likely', tenant_id: 'acme' }]);
  const { notified, now } = parseJson((await world.run('alerts', 'explain', alerts[0].alert_id, '--json')).out);
  expect(now.at).toBe(notified.at);
  expect(now.evidence.projection).toEqual(notified.evidence.projection);
  expect(now.summary).toBe(notified.summary);
  const screen = await onTerminal(world, 'alerts', 'explain', alerts[0].alert_id);
  expect(screen).not.toMatch(/^ +Notified/m);
  expect(screen).toMatch(/^Why +more requests: 5 credits each, 5 in 2026-01$/m);
});

/** Each of the tenants jumps after the first sync; others are steady. */
async function worldOf(names: readonly string[], steady = 60): Promise<World> {
  const quiet = Array.from({ length: steady }, (_, index) => `steady-${index}`);
  const usage = [...names, ...quiet].flatMap((name) =>
    ['2025-12', '2026-01', '2026-02'].map((period) => row(name, period, period === '2026-02' ? 9_900 : 10_000)),
  );
  const world = await createWorld({ ...FIRST, usage });
  await world.run('sync', '--from', '2025-12');
  for (const tenantId of names) {
    world.sandbox.workspace('ws-1').set({ tenantId, period: '2026-02', credits: 50_000, requests: 30 });
  }
  await world.run('sync');
  return world;
}

function moveTo({ clock }: World, nowMs: number): void {
  clock.nowMs = nowMs;
  clock.serviceMs = nowMs;
}

async function onTerminal(world: World, ...argv: string[]): Promise<string> {
  const { code, out } = await world.runOnTerminal(WIDTH, ...argv);
  expect(code).toBe(0);
  return out;
}

function textsWider(screen: string): string[] {
  return screen.split('\n').filter((line) => textWidth(line) > WIDTH);
}
