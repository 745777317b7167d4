import { Random } from '../../support/random.ts';
import { SERVICE_FAULTS, type ServiceFault } from '../world/network.ts';
import { RECEIVER_FAULTS, type ReceiverFault } from '../world/receiver.ts';
import { DISK_FAULTS, type DiskFault } from '../world/statements.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Something that happens to the world at `atMs` after its beginning. What has `forMs` ends by itself. */
export type Happening = { id: number; atMs: number } & (
  | { kind: 'service'; workspace: number; fault: ServiceFault; probability: number; forMs: number }
  | { kind: 'service_clock'; workspace: number; skewMs: number; forMs: number }
  | { kind: 'restate'; workspace: number; tenant: number; monthsAgo: number; credits: number }
  | { kind: 'forget'; workspace: number; tenant: number; monthsAgo: number; forMs: number }
  | { kind: 'bulge'; workspace: number; tenant: number; times: number }
  | { kind: 'receiver'; receiver: number; fault: ReceiverFault; probability: number; forMs: number }
  | { kind: 'clock'; host: number; stepMs: number; forMs: number }
  | { kind: 'disk'; host: number; fault: DiskFault; probability: number; forMs: number }
  | { kind: 'kill'; process: number; afterSteps: number; downMs: number }
  | { kind: 'stop'; process: number; downMs: number }
  | { kind: 'freeze'; process: number; forMs: number }
  | { kind: 'queue_lost' }
  | { kind: 'queue_away'; forMs: number }
  | { kind: 'lock_lost' }
  | { kind: 'command'; command: CommandKind; workspace: number; tenant: number; monthsAgo: number }
);
export type HappeningKind = Happening['kind'];

/** What people type. */
export const COMMANDS = ['close', 'reopen', 'ack', 'silence', 'plan', 'sync', 'usage', 'status', 'replay'] as const;
export type CommandKind = (typeof COMMANDS)[number];

export interface PlannedWorkspace {
  id: string;
  cron: string;
  pauseMs: number;
  reconcileCron: string;
  perPage: number;
  concurrency: number;
  tenants: { id: string; sinceMs: number; creditsPerDay: number }[];
}

/** All of a world that its seed decides. Whatever else is random in it is drawn from `seed`, too. */
export interface Plan {
  seed: number;
  startMs: number;
  forMs: number;
  workspaces: PlannedWorkspace[];
  receivers: { name: string; digest: boolean }[];
  hosts: number;
  happenings: Happening[];
}

export interface PlanSize {
  /** The longest world; the shortest lasts a day, or as long as this. */
  days: number;
}

/** A world of which hundreds can be played in a minute: fewer runs, but all that can happen. */
export const SHORT: PlanSize = { days: 0.25 };

/** With the longest pause between two of its slots. */
const CRONS = [
  { cron: '*/20 * * * *', pauseMs: 20 * MINUTE_MS },
  { cron: '7 * * * *', pauseMs: HOUR_MS },
  { cron: '15 */3 * * *', pauseMs: 3 * HOUR_MS },
  { cron: '0 6,18 * * *', pauseMs: 12 * HOUR_MS },
];
const STRANGE_IDS = [
  'acme',
  'a b',
  "o'neil",
  'ümlaut',
  'a/b',
  '..',
  '%41',
  '0',
  'null',
  '__proto__',
  'x'.repeat(200),
  '猫',
];

export function drawPlan(seed: number, { days }: PlanSize): Plan {
  const random = new Random(seed);
  const startMs = Date.UTC(2026, random.below(12), random.between(1, 28), random.below(24), random.below(60));
  const short = days < 1;
  const forMs = short ? days * DAY_MS : random.between(1, days) * DAY_MS;
  const crons = short ? CRONS.filter(({ pauseMs }) => pauseMs === 3 * HOUR_MS) : CRONS;
  const workspaces = Array.from({ length: random.between(1, short ? 2 : 3) }, (_, index) =>
    drawWorkspace(random, { index, startMs, crons }),
  );
  const receivers = [
    { name: 'hook', digest: false },
    { name: 'slack', digest: random.chance(0.5) },
  ];
  const hosts = random.chance(0.4) ? 2 : 1;
  const happenings = Array.from({ length: random.between(2, 6 + days * 2) }, () =>
    drawHappening(random, { forMs, workspaces: workspaces.length, receivers: receivers.length, hosts }),
  )
    .sort((a, b) => a.atMs - b.atMs)
    .map((happening, id): Happening => ({ id, ...happening }));
  return { seed, startMs, forMs, workspaces, receivers, hosts, happenings };
}

function drawWorkspace(
  random: Random,
  { index, startMs, crons }: { index: number; startMs: number; crons: typeof CRONS },
): PlannedWorkspace {
  const tenants = Array.from({ length: random.between(1, 9) }, (_, number) => ({
    id: random.chance(0.3) ? random.pick(STRANGE_IDS) : `tenant-${number}`,
    sinceMs: startMs - random.between(-1, 100) * DAY_MS,
    creditsPerDay: random.pick([0, 3, 200, 5_000, 1_000_000]),
  }));
  return {
    id: `ws-${index}`,
    ...random.pick(crons),
    reconcileCron: '30 3 * * *',
    perPage: random.pick([2, 5, 50]),
    concurrency: random.between(1, 4),
    tenants: [...new Map(tenants.map((tenant) => [tenant.id, tenant])).values()],
  };
}

interface Cast {
  forMs: number;
  workspaces: number;
  receivers: number;
  hosts: number;
}

/** How often each kind is drawn, beside the others. */
const WEIGHTS: Record<HappeningKind, number> = {
  service: 8,
  service_clock: 1,
  restate: 2,
  forget: 2,
  bulge: 3,
  receiver: 3,
  clock: 3,
  disk: 2,
  kill: 4,
  stop: 2,
  freeze: 2,
  queue_lost: 1,
  queue_away: 2,
  lock_lost: 1,
  command: 4,
};
export const HAPPENINGS = Object.keys(WEIGHTS) as HappeningKind[];
const DRAWN = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array<HappeningKind>(weight).fill(kind as HappeningKind),
);

type Drawn = Happening extends infer Kind ? (Kind extends Happening ? Omit<Kind, 'id'> : never) : never;

function drawHappening(random: Random, cast: Cast): Drawn {
  const atMs = random.below(cast.forMs);
  const workspace = random.below(cast.workspaces);
  const tenant = random.below(9);
  const monthsAgo = random.below(4);
  const forMs = random.pick([5 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS, 26 * HOUR_MS]);
  const downMs = random.pick([2_000, MINUTE_MS, 3 * HOUR_MS]);
  const probability = random.pick([0.05, 0.5, 1]);
  const process = random.below(cast.hosts);
  const kind = random.pick(DRAWN);
  switch (kind) {
    case 'service':
      return { atMs, kind, workspace, fault: random.pick(SERVICE_FAULTS), probability, forMs };
    case 'service_clock':
      return { atMs, kind, workspace, skewMs: random.pick([-1, 1]) * random.pick([2 * MINUTE_MS, HOUR_MS]), forMs };
    case 'restate':
      return { atMs, kind, workspace, tenant, monthsAgo, credits: random.between(-50_000, 50_000) };
    case 'forget':
      return { atMs, kind, workspace, tenant, monthsAgo, forMs };
    case 'bulge':
      return { atMs, kind, workspace, tenant, times: random.pick([0, 2, 5, 300]) };
    case 'receiver':
      return {
        atMs,
        kind,
        receiver: random.below(cast.receivers),
        fault: random.pick(RECEIVER_FAULTS),
        probability,
        forMs,
      };
    case 'clock':
      return {
        atMs,
        kind,
        host: process,
        stepMs: random.pick([-1, 1]) * random.pick([3_000, 2 * HOUR_MS, 9 * HOUR_MS, 40 * DAY_MS]),
        forMs,
      };
    case 'disk':
      return {
        atMs,
        kind,
        host: process,
        fault: random.pick(DISK_FAULTS),
        probability: random.pick([0.01, 0.2, 1]),
        forMs: random.pick([MINUTE_MS, HOUR_MS]),
      };
    case 'kill':
      return { atMs, kind, process, afterSteps: random.between(1, 400), downMs };
    case 'stop':
      return { atMs, kind, process, downMs };
    case 'freeze':
      return { atMs, kind, process, forMs: random.pick([20_000, 3 * MINUTE_MS, HOUR_MS]) };
    case 'queue_lost':
    case 'lock_lost':
      return { atMs, kind };
    case 'queue_away':
      return { atMs, kind, forMs };
    case 'command':
      return { atMs, kind, command: random.pick(COMMANDS), workspace, tenant, monthsAgo };
  }
}
