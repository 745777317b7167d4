import { createHash } from 'node:crypto';
import { PromiseBroken } from '../oracle/fault.ts';
import { createWorld } from '../world/world.ts';
import { COMMANDS, type Happening } from './happening.ts';
import { nothingKnown } from './known.ts';
import { calm, happen } from './obstacles.ts';
import { loadCommands } from './people.ts';
import { drawPlan, isLong, type Plan, SHORT } from './plan.ts';
import { Watch } from './watch.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Beside two of the longest pauses: long enough for what was put off. */
const QUIET_MS = 4 * HOUR_MS;
/** Longer than a digest waits for its hour, or news for the day since the last. */
const QUIET_DAY_MS = 29 * HOUR_MS;
/** Whether there is anything left to wait for is asked so often. */
const REST_STEP_MS = 10 * MINUTE_MS;
/** With nothing in its way. */
const LONGEST_RUN_MINUTES = 30;

/** A promise that was not kept. */
export interface Broken {
  promise: string;
  detail: string;
  /** The world's time. */
  at: string;
}

export interface Outcome {
  plan: Plan;
  /** Null: every promise was kept. */
  broken: Broken | null;
  /** Of everything that happened: two plays of one plan have the same. */
  digest: string;
  events: number;
  /** How long the world lasted. */
  virtualMs: number;
  /** How often each kind of fault was met. */
  met: Map<string, number>;
  trace: readonly string[];
}

/** Loads what the program loads when it is first used, so that no world waits for files. */
export async function warmUp(): Promise<void> {
  await loadCommands();
  const plan = drawPlan(0, SHORT);
  const typed = COMMANDS.map((command, index): Happening => {
    const whom = { workspace: 0, tenant: 0, monthsAgo: 1 };
    return { id: index, atMs: (index + 1) * 10 * 60_000, during: null, kind: 'command', command, ...whom };
  });
  for (let tries = 1; ; tries += 1) {
    const { broken } = await play({ ...plan, outlet: 'tenant_id', happenings: typed });
    if (broken === null) return;
    if (tries === 5) throw new Error(`a world in which nothing goes wrong: ${broken.detail}`);
    // In the first one the program may have waited for a file.
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Plays one world to its end, and then lets it rest; every promise is looked at after every event. */
export async function play(plan: Plan): Promise<Outcome> {
  const world = createWorld(plan);
  const known = nothingKnown(plan, world);
  const { watches } = known;
  const watch = new Watch(plan, world, known);
  const look = (): void => {
    for (const each of watches) each.look();
    watches[0]?.listen();
  };
  const onRejection = (reason: unknown): void => watch.rejected(reason);
  process.on('unhandledRejection', onRejection);
  let events = 0;
  let broken: Outcome['broken'] = null;
  try {
    for (const happening of plan.happenings) {
      world.clock.after(happening.atMs, () => happen(watch.stage, happening));
    }
    watch.begin();
    await world.clock.advance(0);
    look();
    const run = async (endMs: number): Promise<void> => {
      while (await world.next(endMs)) {
        events += 1;
        look();
      }
      // What was begun last may have gone on since.
      look();
    };
    await run(plan.forMs);
    world.note('quiet');
    for (const { stage } of watches) calm(stage);
    // Daemons that start now are up before the clock goes on.
    await world.clock.advance(0);
    const calmMs = world.clock.now();
    const longestMs = QUIET_MS + 2 * Math.max(...plan.workspaces.map(({ pauseMs }) => pauseMs));
    for (
      let pauseAfterFailureMs = 0;
      pauseAfterFailureMs < longestMs && !watches.every((each) => each.isSettled(calmMs));
      pauseAfterFailureMs += REST_STEP_MS
    )
      await run(plan.forMs + pauseAfterFailureMs + REST_STEP_MS);
    // Reminders never end, so there is always something to wait for; a run that has begun meanwhile ends.
    const untilRead = async (): Promise<void> => {
      for (let minutes = 0; minutes < LONGEST_RUN_MINUTES && watches.some((each) => each.isReading); minutes += 1)
        await run(world.clock.monotonic() + MINUTE_MS);
    };
    await untilRead();
    for (const each of watches) each.lookAtRest();
    if (plan.quietDay) {
      const mutedMs = isLong(plan) ? Math.max(0, known.muted.lastEndMs(null) - world.clock.now()) : 0;
      await run(world.clock.monotonic() + mutedMs + QUIET_DAY_MS + plan.lookMs);
    }
  } catch (error) {
    const { promise, detail } =
      error instanceof PromiseBroken
        ? { promise: error.promise, detail: error.message }
        : { promise: 'the program runs', detail: String((error as Error).stack) };
    broken = { promise, detail, at: new Date(world.clock.now()).toISOString() };
    world.note(`BROKEN ${promise}: ${detail}`);
  } finally {
    for (const each of watches) each.end();
    process.off('unhandledRejection', onRejection);
    world.close();
  }
  const digest = createHash('sha256').update(world.trace.join('\n')).digest('hex').slice(0, 16);
  return { plan, broken, digest, events, virtualMs: world.clock.monotonic(), met: known.met, trace: world.trace };
}
