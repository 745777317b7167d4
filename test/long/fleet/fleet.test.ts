import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startCommand } from '../../support/daemon-process.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { type Manner, startFleet } from './fleet.ts';

const SECONDS = Number(process.env.FLEET_SECONDS ?? 600);
/** Every workspace has had its first run by then. */
const WARM_UP_SECONDS = 90;
const TWO_TICKS_MS = 120_000;
const MOST_RSS_MB = 500;
const MOST_LOOP_MS = 100;
const LOOP_WATCH = new URL('./loop-watch.mjs', import.meta.url).href;
/** What each manner must be told of, by one of these at least. */
const TRUE_ALERTS: Readonly<Record<Manner, readonly string[]>> = {
  healthy: [],
  hanging: ['sync_failed', 'sync_stale'],
  endless: ['sync_failed'],
  refused: ['sync_failed'],
  heavy: ['sync_failed'],
};

test('twenty bad workspaces of a hundred hurt none of the others, and each of them has its own true alert', async () => {
  const fleet = await startFleet();
  onTestFinished(() => fleet.close());
  const loopFile = join(fleet.folder, 'loop.json');
  const daemon = startCommand(fleet.folder, 'daemon', ['--import', LOOP_WATCH], { LOOP_WATCH_FILE: loopFile });
  await daemon.line('ready', 60_000);
  const view = viewLedger(join(fleet.folder, 'data', 'ledger.db'));
  const healthy = [...fleet.manners].filter(([, manner]) => manner === 'healthy').map(([id]) => id);

  const late = new Map<string, number>();
  let peakMb = 0;
  let oldestMs = 0;
  const beganMs = Date.now();
  while (Date.now() - beganMs < SECONDS * 1000) {
    await sleep(1000);
    peakMb = Math.max(peakMb, residentMb(daemon.child.pid ?? 0));
    if (Date.now() - beganMs < WARM_UP_SECONDS * 1000) continue;
    const rows = view.rows('SELECT workspace_id AS id, last_complete_run_at AS at FROM finance_freshness');
    const at = new Map(rows.map(({ id, at: time }) => [id, typeof time === 'string' ? Date.parse(time) : 0]));
    for (const id of healthy) {
      const ageMs = Date.now() - (at.get(id) ?? 0);
      oldestMs = Math.max(oldestMs, ageMs);
      if (ageMs > TWO_TICKS_MS) late.set(id, Math.max(late.get(id) ?? 0, ageMs));
    }
  }
  const told = view.rows("SELECT workspace_id AS id, rule FROM finance_alerts WHERE state = 'firing' ORDER BY 1, 2");
  const rulesOf = new Map<string, string[]>();
  for (const { id, rule } of told) rulesOf.set(String(id), [...(rulesOf.get(String(id)) ?? []), String(rule)]);
  const loop = JSON.parse(readFileSync(loopFile, 'utf8')) as Record<'maxMs' | 'p99Ms' | 'mostWorkedMs', number>;
  const runs = view.rows('SELECT status, error_code, count(*) AS runs FROM finance_runs GROUP BY 1, 2');
  process.stdout.write(
    `${JSON.stringify({ seconds: SECONDS, peakMb, oldestMs, loop, runs, alerts: [...rulesOf] }, (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    )}\n`,
  );

  expect([...late]).toEqual([]);
  expect(healthy.filter((id) => rulesOf.has(id))).toEqual([]);
  expect(peakMb).toBeLessThanOrEqual(MOST_RSS_MB);
  expect(loop.maxMs).toBeLessThanOrEqual(MOST_LOOP_MS);
  const untold = [...fleet.manners].filter(
    ([id, manner]) =>
      manner !== 'healthy' && !TRUE_ALERTS[manner].some((rule) => rulesOf.get(id)?.includes(rule) === true),
  );
  expect(untold).toEqual([]);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

/** Resident memory of a process in MB. */
function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}
