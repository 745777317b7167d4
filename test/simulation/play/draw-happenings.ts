import type { Random } from '../../support/random.ts';
import { SERVICE_FAULTS } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import { COMMANDS, type Happening, type HappeningKind } from './happening.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

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
  command: 5,
};
export const HAPPENINGS = Object.keys(WEIGHTS) as HappeningKind[];
const DRAWN = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array<HappeningKind>(weight).fill(kind as HappeningKind),
);
/** What hurts most in the middle of something. */
const AT_STEPS: readonly HappeningKind[] = [
  ...(['restate', 'forget', 'clock', 'disk', 'kill', 'stop', 'freeze', 'queue_lost', 'queue_away'] as const),
  ...(['lock_lost', 'command'] as const),
];

type Drawn = Happening extends infer Kind ? (Kind extends Happening ? Omit<Kind, 'id'> : never) : never;

/** Faults come together: many begin when another one begins or ends. */
export function drawHappenings(random: Random, cast: Cast, count: number): Happening[] {
  const drawn: Drawn[] = [];
  for (let index = 0; index < count; index += 1) {
    const edges = drawn.flatMap((one) => ('forMs' in one ? [one.atMs, one.atMs + one.forMs] : [one.atMs]));
    drawn.push(drawHappening(random, cast, drawMoment(random, cast.forMs, edges)));
  }
  return drawn.sort((a, b) => a.atMs - b.atMs).map((happening, id): Happening => ({ id, ...happening }));
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
  const monthsAgo = random.below(4);
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
      return { ...when, kind, workspace, tenant, monthsAgo, forMs };
    case 'bulge':
      return { ...when, kind, workspace, tenant, times: random.pick([0, 2, 5, 300]) };
    case 'receiver': {
      const receiver = random.below(cast.receivers);
      return { ...when, kind, receiver, fault: random.pick(RECEIVER_FAULTS), probability, forMs };
    }
    case 'clock': {
      const stepMs = random.pick([-1, 1]) * random.pick([3_000, 2 * HOUR_MS, 9 * HOUR_MS, 40 * DAY_MS]);
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
    case 'command':
      return { ...when, kind, command: random.pick(COMMANDS), workspace, tenant, monthsAgo };
  }
}
