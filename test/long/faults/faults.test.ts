import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Random } from '../../support/random.ts';
import { type FaultySync, type Injection, startFaultySync } from './faulty-sync.ts';
import { fill, smallFileSystem } from './full-file-system.ts';

const KILLS = Number(process.env.FAULT_KILLS ?? 500);
const ERRORS = Number(process.env.FAULT_ERRORS ?? 200);
const FILLS = Number(process.env.FAULT_FILLS ?? 20);
const SEED = Number(process.env.FAULT_SEED ?? 1);

test('a sync that is killed at any write or sync of its files leaves the state before it or after it', async () => {
  const world = await startFaultySync();
  const points = [...world.calls].flatMap(([call, count]) =>
    Array.from({ length: count }, (_, at): Injection => ({ call, when: String(at + 1), what: 'signal=SIGKILL' })),
  );
  const killed = await play(world, drawn(points, KILLS));
  expect(killed).toBeGreaterThan(0);
}, 7_200_000);

test('a sync whose disk fails or is full, once or from then on, publishes all or nothing, and the next one does the rest', async () => {
  const world = await startFaultySync();
  const points = [...world.calls].flatMap(([call, count]) =>
    Array.from({ length: count }, (_, at) => at + 1).flatMap((at) =>
      ['error=ENOSPC', 'error=EIO'].flatMap((what): Injection[] => [
        { call, when: String(at), what },
        { call, when: `${at}+`, what },
      ]),
    ),
  );
  await play(world, drawn(points, ERRORS));
}, 7_200_000);

test('on a file system that is full a sync applies nothing and says so, and once there is room it does all', async () => {
  // Each change fires an alert, whose message takes more room than all else.
  const world = await startFaultySync({ root: smallFileSystem(), tenants: 100 });
  for (let time = 1; time <= FILLS; time += 1) {
    const attempt = world.fresh();
    const filler = `${attempt.path}.filler`;
    fill(filler);
    expect(await attempt.sync(), `time ${time}`).toBe(1);
    rmSync(filler);
    expect(attempt.figures() === world.before, `time ${time}`).toBe(true);
    expect(await attempt.sync(), `time ${time}`).toBe(0);
    expect(attempt.figures() === world.after, `time ${time}`).toBe(true);
    expect(attempt.faults(), `time ${time}`).toEqual([]);
    attempt.remove();
  }
}, 3_600_000);

/** Each injection on a ledger of its own; gives how many of the syncs did not end well. */
async function play(world: FaultySync, injections: readonly Injection[]): Promise<number> {
  expect(world.before).not.toBe(world.after);
  let failed = 0;
  for (const injection of injections) {
    const attempt = world.fresh();
    const what = `${injection.call} ${injection.when} ${injection.what}, seed ${SEED}`;
    const code = await attempt.sync(injection);
    if (code !== 0) failed += 1;
    const figures = attempt.figures();
    // Who is told that it was done must find it done.
    expect(figures === world.after || (figures === world.before && code !== 0), what).toBe(true);
    expect(attempt.faults(), what).toEqual([]);
    expect(await attempt.sync(), what).toBe(0);
    expect(attempt.figures() === world.after, what).toBe(true);
    expect(attempt.faults(), what).toEqual([]);
    attempt.remove();
  }
  return failed;
}

function drawn<T>(points: readonly T[], count: number): T[] {
  const random = new Random(SEED);
  const left = [...points];
  const taken: T[] = [];
  while (taken.length < count && left.length > 0) taken.push(...left.splice(random.below(left.length), 1));
  return taken;
}
