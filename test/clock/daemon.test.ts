import { beforeAll, expect } from 'vitest';
import { checkStoredTimes } from '../../src/operations/doctor/check-ledger.ts';
import { warmUp } from '../simulation/play/play.ts';
import { type Jump, playTable } from './jumps.ts';
import { type Stage, startStage } from './stage.ts';

/** The daemons of the simulation look at what is due every seven minutes instead of every few seconds. */
const LOOK_MINUTES = 8;

beforeAll(warmUp);

playTable([
  {
    kind: 'staleness',
    must: 'a workspace of which no run comes is stale, and told, as soon as any other',
    async play(jump) {
      const stage = await staged();
      await stage.pass(60);
      await runWhileWrong(stage, jump);
      stage.world.broker.setAway(true);
      // A clock that steps ahead makes it stale until it is read, too.
      const before = stage.told('sync_stale').length;
      await stage.until('sync_stale is told', () => stage.told('sync_stale').length > before, 41 + 2 * LOOK_MINUTES);
      expect(stage.seat.running?.daemon.probe.freshness()).toMatchObject([{ stale: true }]);
    },
  },
  {
    kind: 'the word about the clock',
    must: 'once, with the remedy, in the log, by an alert and by doctor',
    async play(jump) {
      const stage = await staged();
      const warnings: { reason: string; hint: string }[] = [];
      stage.world.logged = (_, line) => {
        const entry = JSON.parse(line);
        if (entry.msg === 'the ledger holds times in the future') warnings.push(entry);
      };
      await runWhileWrong(stage, jump);
      await stage.until('the clock is told', () => stage.told('job_failed').length > 0, LOOK_MINUTES);
      await stage.pass(3 * 60);
      expect(stage.told('job_failed')).toEqual([expect.stringContaining('has been set back')]);
      expect(warnings).toMatchObject([{ hint: expect.stringContaining('NTP') }]);
      const nowMs = stage.world.clock.now() + jump.rightMs;
      expect(checkStoredTimes(stage.world.ledgerPath, nowMs)).toMatchObject([{ check: 'clock', status: 'warn' }]);
    },
  },
]);

/** A daemon that has done its first run. */
async function staged(): Promise<Stage> {
  const stage = await startStage();
  await stage.until('the first run', () => stage.published() === 1, LOOK_MINUTES);
  return stage;
}

async function runWhileWrong(stage: Stage, { wrongMs, rightMs }: Jump): Promise<void> {
  stage.setOff(wrongMs);
  if (wrongMs > 0) await publishedWithin(stage, 20 + LOOK_MINUTES);
  stage.setOff(rightMs);
}

async function publishedWithin(stage: Stage, minutes: number): Promise<void> {
  const before = stage.published();
  await stage.until('one more run', () => stage.published() > before, minutes);
}
