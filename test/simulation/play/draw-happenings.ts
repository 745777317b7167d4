import type { Random } from '../../support/random.ts';
import { BILLING_FAULTS } from '../world/billing.ts';
import { SETTINGS } from '../world/configuration.ts';
import { SERVICE_FAULTS } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import { drawSplit } from './draw-scenes.ts';
import { drawTheme } from './draw-themes.ts';
import { COMMANDS, type CommandKind, type Happening, type HappeningKind } from './happening.ts';
import type { Pace } from './plan.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Less than an hour is enough to do the next slot of an hourly cron early. */
const CLOCK_STEPS_MS = [3_000, 50 * MINUTE_MS, 50 * MINUTE_MS, 2 * HOUR_MS, 9 * HOUR_MS, 40 * DAY_MS];

/** To whom things can happen, and for how long. */
export interface Cast {
  forMs: number;
  pace: Pace;
  /** Of each workspace, the longest from one slot to the next. */
  pausesMs: readonly number[];
  receivers: number;
}

/** Of what ends by itself. */
const LENGTHS_MS: Record<Pace, number[]> = {
  busy: [3 * MINUTE_MS, 12 * MINUTE_MS, 45 * MINUTE_MS, 2 * HOUR_MS],
  days: [5 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS, 26 * HOUR_MS],
  weeks: [HOUR_MS, 8 * HOUR_MS, 30 * HOUR_MS, 4 * DAY_MS],
};

/** How often each kind is drawn, beside the others. */
const WEIGHTS: Record<HappeningKind, number> = {
  service: 10,
  service_clock: 1,
  restate: 2,
  forget: 2,
  // Drawn with who leaves the listing.
  unlist: 0,
  bulge: 2,
  receiver: 5,
  // Drawn with the outlet.
  billing: 0,
  clock: 5,
  disk: 2,
  kill: 5,
  stop: 3,
  freeze: 4,
  queue_lost: 1,
  queue_away: 3,
  lock_lost: 3,
  configure: 2,
  // A machine is split once, and in few worlds.
  split: 0,
  command: 9,
};
/** In weeks what is told counts, and clocks are right: who was told when can be known only then. */
export const NOT_IN_WEEKS: readonly HappeningKind[] = ['clock', 'service_clock'];
const WEIGHTS_OF_WEEKS: Record<HappeningKind, number> = {
  ...WEIGHTS,
  ...{ restate: 5, forget: 3, bulge: 8, receiver: 8, kill: 3, stop: 2, freeze: 2, disk: 1 },
  ...{ configure: 6, command: 10 },
  ...Object.fromEntries(NOT_IN_WEEKS.map((kind) => [kind, 0])),
};
export const HAPPENINGS = Object.keys(WEIGHTS) as HappeningKind[];
const DRAWN: Record<Pace, HappeningKind[]> = {
  ...{ busy: weighted(WEIGHTS), days: weighted(WEIGHTS), weeks: weighted(WEIGHTS_OF_WEEKS) },
};
/** Months that are closed, corrected and reopened are mostly the same one. */
const MONTHS_AGO = [0, 1, 1, 1, 2, 3];
/** The others go with an outlet. */
const isDrawnAlone = (command: CommandKind): boolean => command !== 'begin' && command !== 'push';
/** Some are typed more often than others. */
const TYPED: readonly CommandKind[] = [
  ...COMMANDS.filter(isDrawnAlone),
  'close',
  'close',
  'reopen',
  'rates',
  'silence',
  'plan',
];
/** What hurts most in the middle of something. */
const AT_STEPS: readonly HappeningKind[] = [
  ...(['restate', 'forget', 'clock', 'disk', 'kill', 'stop', 'freeze', 'queue_lost', 'queue_away'] as const),
  ...(['lock_lost', 'command'] as const),
];

export type Drawn = Happening extends infer Kind ? (Kind extends Happening ? Omit<Kind, 'id'> : never) : never;

/** Faults come together: many begin when another one begins or ends. In most worlds there is a theme, too, and less beside it. */
export function drawHappenings(random: Random, cast: Cast, count: number): Happening[] {
  const cards = { command: 'rates', workspace: 0, tenant: random.below(9), monthsAgo: 0 } as const;
  const drawn: Drawn[] = random.chance(0.6) ? [{ atMs: MINUTE_MS, during: null, kind: 'command', ...cards }] : [];
  const themes = cast.pace === 'busy' ? 1 : random.between(1, 4);
  const theme = random.chance(0.7) ? Array.from({ length: themes }, () => drawTheme(random, cast)).flat() : [];
  drawn.push(...theme);
  const beside = theme.length > 0 ? Math.round(count * random.pick([0, 0.2, 0.5])) : count;
  for (let index = 0; index < beside; index += 1) {
    const edges = drawn.flatMap((one) => ('forMs' in one ? [one.atMs, one.atMs + one.forMs] : [one.atMs]));
    drawn.push(sendBack(random, drawHappening(random, cast, drawMoment(random, cast.forMs, edges)), drawn));
  }
  return drawn.sort((a, b) => a.atMs - b.atMs).map((happening, id): Happening => ({ id, ...happening }));
}

/** Of the processes that die, many do so while their machine's clock is ahead, and it comes back with one that is right. */
function sendBack(random: Random, one: Drawn, drawn: readonly Drawn[]): Drawn {
  const ahead = drawn.find((other) => other.kind === 'clock' && other.stepMs > 0);
  if (one.kind !== 'kill' || ahead?.kind !== 'clock' || random.chance(0.4)) return one;
  return { ...one, atMs: ahead.atMs + random.below(ahead.forMs), reboot: true };
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
  const workspace = random.below(cast.pausesMs.length);
  const tenant = random.below(9);
  const monthsAgo = random.pick(MONTHS_AGO);
  const forMs = random.pick(LENGTHS_MS[cast.pace]);
  const probability = random.pick([0.05, 0.5, 1, 1]);
  const kind = random.pick(DRAWN[cast.pace]);
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
    case 'unlist':
      return { ...when, kind, workspace, tenant, forMs };
    case 'bulge':
      return { ...when, kind, workspace, tenant, times: random.pick([0, 2, 5, 300]) };
    case 'receiver': {
      const receiver = random.below(cast.receivers);
      return { ...when, kind, receiver, fault: random.pick(RECEIVER_FAULTS), probability, forMs };
    }
    case 'billing':
      return { ...when, kind, fault: random.pick(BILLING_FAULTS), probability, forMs };
    case 'clock': {
      const stepMs = random.pick([-1, 1, 1]) * random.pick(CLOCK_STEPS_MS);
      return { ...when, kind, stepMs, forMs };
    }
    case 'disk': {
      const fault = random.pick(DISK_FAULTS);
      const failing = { probability: random.pick([0.01, 0.2, 1]), forMs: random.pick([MINUTE_MS, 20 * MINUTE_MS]) };
      return { ...when, kind, fault, ...failing };
    }
    case 'kill': {
      const afterSteps = during === null ? random.between(1, 400) : random.pick([1, 1, 2, 3, 10, 40]);
      return { ...when, kind, afterSteps, reboot: random.chance(0.4) };
    }
    case 'stop':
      return { ...when, kind, downMs: random.pick([2_000, MINUTE_MS, HOUR_MS]) };
    case 'freeze':
      return { ...when, kind, forMs: random.pick([20_000, 3 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS]) };
    case 'queue_lost':
    case 'lock_lost':
      return { ...when, kind };
    case 'queue_away':
      return { ...when, kind, forMs };
    case 'configure':
      return { ...when, kind, settings: random.pick(SETTINGS) };
    case 'split':
      return { ...when, ...drawSplit(random, cast, workspace) };
    case 'command':
      return { ...when, kind, command: random.pick(TYPED), workspace, tenant, monthsAgo };
  }
}

function weighted(weights: Record<HappeningKind, number>): HappeningKind[] {
  return HAPPENINGS.flatMap((kind) => Array<HappeningKind>(weights[kind]).fill(kind));
}
