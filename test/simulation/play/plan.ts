import { Random } from '../../support/random.ts';
import { drawHappenings } from './draw-happenings.ts';
import type { Happening } from './happening.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

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
  /** Each process has a host name of its own. */
  containers: boolean;
  happenings: Happening[];
  /** At the end it is quiet for more than a day. */
  quietDay: boolean;
}

export interface PlanSize {
  /** The longest world. Most are busy hours, whatever this is. */
  days: number;
}

/** A world of which hundreds can be played in a minute. */
export const SHORT: PlanSize = { days: 0.1 };

/** With the longest pause between two of its slots. */
const BUSY_CRONS = [
  { cron: '*/10 * * * *', pauseMs: 10 * MINUTE_MS },
  { cron: '*/20 * * * *', pauseMs: 20 * MINUTE_MS },
  { cron: '7 * * * *', pauseMs: HOUR_MS },
];
const LONG_CRONS = [
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

/** Draws hours in which much happens, or days. */
export function drawPlan(seed: number, { days }: PlanSize): Plan {
  const random = new Random(seed);
  const busy = days < 1 || random.chance(0.8);
  const short = days < 1;
  const forMs = busy
    ? random.between(short ? 3 : 4, short ? 5 : 12) * 30 * MINUTE_MS
    : random.between(1, days) * DAY_MS;
  const startMs = drawStart(random);
  const workspaces = Array.from({ length: random.between(1, busy ? 2 : 3) }, (_, index) =>
    drawWorkspace(random, { index, startMs, busy }),
  );
  const receivers = [
    { name: 'hook', digest: false },
    { name: 'slack', digest: random.chance(0.3) },
  ];
  const hosts = random.chance(0.6) ? 2 : 1;
  const containers = random.chance(0.4);
  const count = busy ? random.between(4, 4 + (4 * forMs) / HOUR_MS) : random.between(2, 6 + days * 4);
  const cast = { forMs, busy, workspaces: workspaces.length, receivers: receivers.length, hosts };
  const happenings = drawHappenings(random, cast, count);
  const quietDay = random.chance(days < 1 ? 0.02 : 0.1);
  return { quietDay, seed, startMs, forMs, workspaces, receivers, hosts, containers, happenings };
}

/** Any time of a year; now and then an hour before its month ends. */
function drawStart(random: Random): number {
  const month = random.below(12);
  if (random.chance(0.15)) return Date.UTC(2026, month + 1, 1) - random.between(30, 90) * MINUTE_MS;
  return Date.UTC(2026, month, random.between(1, 28), random.below(24), random.below(60));
}

function drawWorkspace(
  random: Random,
  { index, startMs, busy }: { index: number; startMs: number; busy: boolean },
): PlannedWorkspace {
  const tenants = Array.from({ length: random.between(1, busy ? 4 : 9) }, (_, number) => ({
    id: random.chance(0.3) ? random.pick(STRANGE_IDS) : `tenant-${number}`,
    sinceMs: startMs - random.between(-1, busy ? 70 : 100) * DAY_MS,
    creditsPerDay: random.pick([0, 3, 200, 5_000, 1_000_000]),
  }));
  return {
    id: `ws-${index}`,
    ...random.pick(busy ? BUSY_CRONS : LONG_CRONS),
    reconcileCron: busy && random.chance(0.5) ? '45 */2 * * *' : '30 3 * * *',
    perPage: random.pick([2, 5, 50]),
    concurrency: random.between(1, 4),
    tenants: [...new Map(tenants.map((tenant) => [tenant.id, tenant])).values()],
  };
}
