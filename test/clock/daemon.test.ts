import { beforeAll, expect } from 'vitest';
import { checkTimes } from '../../src/commands/doctor/check-ledger.ts';
import { warmUp } from '../simulation/play/play.ts';
import type { ServiceFault } from '../simulation/world/network.ts';
import { type Message, messages } from '../support/messages.ts';
import { type Jump, playTable } from './jumps.ts';
import { type Stage, type StageOptions, startStage } from './stage.ts';

/** The daemons of the simulation look at what is due every seven minutes instead of every few seconds. */
const LOOK_MINUTES = 8;
const MORNING_AND_EVENING = { cron: '0 6,18 * * *', pauseMinutes: 12 * 60 };

beforeAll(warmUp);

playTable([
  {
    kind: 'slots',
    must: 'the next one is done when it comes',
    async play(jump) {
      const stage = await staged();
      await runWhileWrong(stage, jump);
      await publishedWithin(stage, 20 + LOOK_MINUTES);
      await publishedWithin(stage, 20 + LOOK_MINUTES);
    },
  },
  {
    kind: 'retries of what failed',
    must: 'at once',
    play: (jump) => retried(jump, 'break'),
  },
  {
    kind: 'retries of what was refused',
    must: 'at once',
    play: (jump) => retried(jump, 'refuse'),
  },
  {
    kind: 'syncs that the service has put off for a year',
    must: 'with the next slot',
    async play(jump) {
      const stage = await staged();
      trouble(stage, 'throttle_for_a_year');
      stage.setOff(jump.wrongMs);
      await failed(stage);
      stage.setOff(jump.rightMs);
      heal(stage);
      await publishedWithin(stage, 20 + LOOK_MINUTES);
    },
  },
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
    kind: 'deliveries that wait for another attempt',
    must: 'within the longest wait that they had come to',
    async play(jump) {
      const stage = await staged();
      const hook = withoutReceiver(stage, jump);
      await stage.until('five attempts', () => messages(stage.ledger()).some(({ attempts }) => attempts === 5), 60);
      stage.setOff(jump.rightMs);
      hook.trouble = null;
      await stage.until('it is told', () => stage.told('sync_failed').length > 0, 15 + LOOK_MINUTES);
    },
  },
  {
    kind: 'deliveries in the hands of a sender that died',
    must: 'once its claim has run out',
    async play(jump) {
      const stage = await staged();
      const hook = withoutReceiver(stage, jump);
      const isInHand = ({ channel, claimedUntil, attempts }: Message) =>
        channel === 'hook' && claimedUntil !== null && attempts === 0;
      await stage.until('a delivery is under way', () => messages(stage.ledger()).some(isInHand), 60);
      stage.seat.kill(1_000);
      stage.setOff(jump.rightMs);
      hook.trouble = null;
      await stage.until('it is told', () => stage.told('sync_failed').length > 0, LOOK_MINUTES);
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
        if (entry.msg === 'the ledger holds times to come') warnings.push(entry);
      };
      await runWhileWrong(stage, jump);
      await stage.until('the clock is told', () => stage.told('job_failed').length > 0, LOOK_MINUTES);
      await stage.pass(3 * 60);
      expect(stage.told('job_failed')).toEqual([expect.stringContaining('has been set back')]);
      expect(warnings).toMatchObject([{ hint: expect.stringContaining('NTP') }]);
      const nowMs = stage.world.clock.now() + jump.rightMs;
      expect(checkTimes(stage.world.ledgerPath, nowMs)).toMatchObject([{ check: 'clock', status: 'warn' }]);
    },
  },
]);

/** A daemon that has done its first run. */
async function staged(options?: StageOptions): Promise<Stage> {
  const stage = await startStage(options);
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

async function failed(stage: Stage): Promise<void> {
  const failures = () => stage.ledger().value("SELECT count(*) FROM runs WHERE status = 'failed'");
  const before = failures();
  await stage.until('a failure', () => failures() !== before, 60 + LOOK_MINUTES);
}

/** The slot of the morning has failed before, too. */
async function retried(jump: Jump, fault: ServiceFault): Promise<void> {
  const stage = await startStage({ ...MORNING_AND_EVENING, fault });
  await failed(stage);
  stage.setOff(jump.wrongMs);
  await stage.until('it fails while the clock is wrong', isFailing(stage), 65);
  stage.setOff(jump.rightMs);
  heal(stage);
  await publishedWithin(stage, LOOK_MINUTES);
}

function isFailing(stage: Stage): () => boolean {
  const failures = () => stage.ledger().value("SELECT count(*) FROM runs WHERE status = 'failed'");
  const before = failures();
  return () => failures() !== before;
}

/** A fault to tell of while the clock is wrong, and a receiver that is away. */
function withoutReceiver(stage: Stage, jump: Jump) {
  const [hook] = stage.world.receivers;
  if (hook === undefined) throw new Error('there is a receiver');
  hook.trouble = { fault: 'away', probability: 1 };
  trouble(stage, 'break');
  stage.setOff(jump.wrongMs);
  return hook;
}

function trouble({ world }: Stage, fault: ServiceFault): void {
  world.network.troubles.set('ws-1', { fault, probability: 1 });
}

function heal({ world }: Stage): void {
  world.network.troubles.clear();
}
