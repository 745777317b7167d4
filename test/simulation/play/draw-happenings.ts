import type { Random } from '../../support/random.ts';
import { SETTINGS } from '../world/configuration.ts';
import { SERVICE_FAULTS } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import { COMMANDS, type CommandKind, type Happening, type HappeningKind } from './happening.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Less than an hour is enough to do the next slot of an hourly cron early. */
const CLOCK_STEPS_MS = [3_000, 50 * MINUTE_MS, 50 * MINUTE_MS, 2 * HOUR_MS, 9 * HOUR_MS, 40 * DAY_MS];

/** To whom things can happen, and for how long. */
interface Cast {
  forMs: number;
  busy: boolean;
  workspaces: number;
  receivers: number;
  hosts: number;
}

/** How often each kind is drawn, beside the others. */
const WEIGHTS: Record<HappeningKind, number> = {
  service: 10,
  service_clock: 1,
  restate: 2,
  forget: 2,
  bulge: 2,
  receiver: 5,
  clock: 5,
  disk: 2,
  kill: 5,
  stop: 3,
  freeze: 4,
  queue_lost: 1,
  queue_away: 3,
  lock_lost: 3,
  configure: 1,
  command: 9,
};
export const HAPPENINGS = Object.keys(WEIGHTS) as HappeningKind[];
const DRAWN = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array<HappeningKind>(weight).fill(kind as HappeningKind),
);
/** Months that are closed, corrected and reopened are mostly the same one. */
const MONTHS_AGO = [0, 1, 1, 1, 2, 3];
/** Some are typed more often than others. */
const TYPED: readonly CommandKind[] = [...COMMANDS, 'close', 'close', 'reopen', 'rates'];
/** What hurts most in the middle of something. */
const AT_STEPS: readonly HappeningKind[] = [
  ...(['restate', 'forget', 'clock', 'disk', 'kill', 'stop', 'freeze', 'queue_lost', 'queue_away'] as const),
  ...(['lock_lost', 'command'] as const),
];

type Drawn = Happening extends infer Kind ? (Kind extends Happening ? Omit<Kind, 'id'> : never) : never;

/** Faults come together: many begin when another one begins or ends. */
export function drawHappenings(random: Random, cast: Cast, count: number): Happening[] {
  const cards = { command: 'rates', workspace: 0, tenant: random.below(9), monthsAgo: 0 } as const;
  const drawn: Drawn[] = random.chance(0.6) ? [{ atMs: MINUTE_MS, during: null, kind: 'command', ...cards }] : [];
  for (let index = 0; index < count; index += 1) {
    const edges = drawn.flatMap((one) => ('forMs' in one ? [one.atMs, one.atMs + one.forMs] : [one.atMs]));
    drawn.push(sendBack(random, drawHappening(random, cast, drawMoment(random, cast.forMs, edges)), drawn));
  }
  return drawn.sort((a, b) => a.atMs - b.atMs).map((happening, id): Happening => ({ id, ...happening }));
}

/** Of the processes that die, many do so while their machine's clock is ahead, and it comes back with one that is right. */
function sendBack(random: Random, one: Drawn, drawn: readonly Drawn[]): Drawn {
  const ahead = drawn.find((other) => other.kind === 'clock' && other.stepMs > 0);
  if (one.kind !== 'kill' || ahead?.kind !== 'clock' || random.chance(0.4)) return one;
  return { ...one, process: ahead.host, atMs: ahead.atMs + random.below(ahead.forMs), reboot: true };
}

function drawMoment(random: Random, forMs: number, edges: readonly number[]): number {
  if (random.chance(0.1)) return 0;
  if (edges.length === 0 || random.chance(0.5)) return random.below(forMs);
  return Math.max(0, Math.min(forMs, random.pick(edges) + random.pick([-3, -1, 0, 1, 3]) * MINUTE_MS));
}

function drawStep(random: Random, kind: HappeningKind): Happening['during'] {
  if (!AT_STEPS.includes(kind) || random.chance(0.3)) return null;
  const step = random.pick(['request', 'request', 'request', 'commit', 'commit', 'delivery'] as const);
  return { step, nth: random.between(1, step === 'delivery' ? 2 : 5) };
}

function drawHappening(random: Random, cast: Cast, atMs: number): Drawn {
  const workspace = random.below(cast.workspaces);
  const tenant = random.below(9);
  const monthsAgo = random.pick(MONTHS_AGO);
  const forMs = cast.busy
    ? random.pick([3 * MINUTE_MS, 12 * MINUTE_MS, 45 * MINUTE_MS, 2 * HOUR_MS])
    : random.pick([5 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS, 26 * HOUR_MS]);
  const probability = random.pick([0.05, 0.5, 1, 1]);
  const process = random.below(cast.hosts);
  const kind = random.pick(DRAWN);
  const during = drawStep(random, kind);
  const when = { atMs, during };
  switch (kind) {
    case 'service':
      return { ...when, kind, workspace, fault: random.pick(SERVICE_FAULTS), probability, forMs };
    case 'service_clock':
      return { ...when, kind, workspace, skewMs: random.pick([-1, 1]) * random.pick([2 * MINUTE_MS, HOUR_MS]), forMs };
    case 'restate':
      return { ...when, kind, workspace, tenant, monthsAgo, credits: random.between(-50_000, 50_000) };
    case 'forget':
      return { ...when, kind, workspace, tenant, monthsAgo, forMs, returns: random.chance(0.5) };
    case 'bulge':
      return { ...when, kind, workspace, tenant, times: random.pick([0, 2, 5, 300]) };
    case 'receiver': {
      const receiver = random.below(cast.receivers);
      return { ...when, kind, receiver, fault: random.pick(RECEIVER_FAULTS), probability, forMs };
    }
    case 'clock': {
      const stepMs = random.pick([-1, 1, 1]) * random.pick(CLOCK_STEPS_MS);
      return { ...when, kind, host: process, stepMs, forMs };
    }
    case 'disk': {
      const fault = random.pick(DISK_FAULTS);
      const failing = { probability: random.pick([0.01, 0.2, 1]), forMs: random.pick([MINUTE_MS, 20 * MINUTE_MS]) };
      return { ...when, kind, host: process, fault, ...failing };
    }
    case 'kill': {
      const afterSteps = during === null ? random.between(1, 400) : random.pick([1, 1, 2, 3, 10, 40]);
      return { ...when, kind, process, afterSteps, reboot: random.chance(0.4) };
    }
    case 'stop':
      return { ...when, kind, process, downMs: random.pick([2_000, MINUTE_MS, HOUR_MS]) };
    case 'freeze':
      return { ...when, kind, process, forMs: random.pick([20_000, 3 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS]) };
    case 'queue_lost':
    case 'lock_lost':
      return { ...when, kind };
    case 'queue_away':
      return { ...when, kind, forMs };
    case 'configure':
      return { ...when, kind, settings: random.pick(SETTINGS) };
    case 'command':
      return { ...when, kind, command: random.pick(TYPED), workspace, tenant, monthsAgo };
  }
}
