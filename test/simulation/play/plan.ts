import { Random } from '../../support/random.ts';
import { type Cast, type Drawn, drawHappenings } from './draw-happenings.ts';
import {
  drawAbsence,
  drawDeafness,
  drawEarlySlot,
  drawGivenUp,
  drawInHand,
  drawMutedGrowth,
  drawOldMonths,
  drawOutlet,
  drawOvertaken,
  drawRefusals,
  drawReopening,
  drawSplits,
  drawSyncs,
  drawUnsent,
  RARE_CRON,
} from './draw-scenes.ts';
import type { Happening } from './happening.ts';

// cspell:ignore ümlaut

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
  /** A daemon looks at what is due so often. */
  lookMs: number;
  workspaces: PlannedWorkspace[];
  receivers: { name: string; digest: boolean }[];
  /** How tenants are named where usage goes on to; null: it goes nowhere. */
  outlet: 'tenant_id' | 'external_ref' | null;
  /** Each process has a host name of its own. */
  containers: boolean;
  happenings: Happening[];
  /** There is no ledger when it begins; else one without any run. */
  isFirstStart: boolean;
  /** At the end it is quiet for more than a day. */
  quietDay: boolean;
}

export interface PlanSize {
  /** The longest world. Most are busy hours, whatever this is, but from ten days on: then each lasts so long. */
  days: number;
}

/** A world of which hundreds can be played in a minute. */
export const SHORT: PlanSize = { days: 0.1 };
/** One that says what the last word of each receiver is worth. */
export const WEEKS: PlanSize = { days: 60 };
export const LONG_DAYS = 10;

export const LOOK_MS = 7 * MINUTE_MS;
/** In worlds of weeks, which would take minutes otherwise. */
const RARE_LOOK_MS = 4 * HOUR_MS;

/** In so many worlds a machine is split: each of these has one ledger more. */
const SPLITS = 0.3;
const SPLITS_OF_SHORT = 0.01;
/** In so many worlds somebody syncs by hand beside the daemon, again and again. */
const SYNCS = 0.4;
/** In so many worlds, none of them short, all services refuse us for hours; in so many without a split a slot is done early. */
const REFUSALS = 0.12;
/** In so many worlds usage goes on to where it is billed. */
const OUTLETS = 0.5;
const EARLY_SLOTS = 0.2;

/** What happens beside the rest, in so many worlds, drawn from a stream of its own each: another scene leaves them as they are. */
interface Scene {
  stream: number;
  share: number;
  draw: (random: Random, cast: Cast) => Drawn[];
}
const SCENES: readonly Scene[] = [
  { stream: 7, share: 0.3, draw: drawAbsence },
  { stream: 8, share: 0.3, draw: drawDeafness },
  { stream: 9, share: 0.2, draw: drawOvertaken },
  { stream: 10, share: 0.15, draw: drawMutedGrowth },
  { stream: 11, share: 0.15, draw: drawUnsent },
  { stream: 12, share: 0.15, draw: drawReopening },
];
/** Those that take days. */
const SCENES_OF_WEEKS: readonly Scene[] = [
  { stream: 13, share: 0.3, draw: drawGivenUp },
  { stream: 14, share: 0.3, draw: drawInHand },
  { stream: 15, share: 0.3, draw: drawOldMonths },
];

/** Hours in which much happens, days, or weeks. */
export type Pace = 'busy' | 'days' | 'weeks';

/** With the longest pause between two of its slots. */
const CRONS: Record<Pace, { cron: string; pauseMs: number }[]> = {
  busy: [
    { cron: '*/10 * * * *', pauseMs: 10 * MINUTE_MS },
    { cron: '*/20 * * * *', pauseMs: 20 * MINUTE_MS },
    { cron: '7 * * * *', pauseMs: HOUR_MS },
  ],
  days: [
    { cron: '*/20 * * * *', pauseMs: 20 * MINUTE_MS },
    { cron: '7 * * * *', pauseMs: HOUR_MS },
    { cron: '15 */3 * * *', pauseMs: 3 * HOUR_MS },
    { cron: '0 6,18 * * *', pauseMs: 12 * HOUR_MS },
  ],
  weeks: [
    { cron: '0 6,18 * * *', pauseMs: 12 * HOUR_MS },
    { cron: '30 5 * * *', pauseMs: DAY_MS },
  ],
};
const RECONCILE_CRONS: Record<Pace, string> = { busy: '45 */2 * * *', days: '30 3 * * *', weeks: '30 3 * * 0' };
/** Of what there is at most, and since how many days a tenant may have been there. */
const SIZES: Record<Pace, { workspaces: number; tenants: number; sinceDays: number }> = {
  busy: { workspaces: 2, tenants: 4, sinceDays: 70 },
  days: { workspaces: 3, tenants: 9, sinceDays: 100 },
  weeks: { workspaces: 2, tenants: 7, sinceDays: 100 },
};
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
  const pace = drawPace(random, days);
  const forMs = drawLength(random, pace, days);
  const startMs = drawStart(random);
  const workspaces = Array.from({ length: random.between(1, SIZES[pace].workspaces) }, (_, index) =>
    drawWorkspace(random, { index, startMs, pace }),
  );
  const splitting = new Random(seed * 0x9e37 + 1);
  const splits = splitting.chance(days < 1 ? SPLITS_OF_SHORT : SPLITS);
  const slipping = new Random(seed * 0x9e37 + 4);
  const slips = pace === 'busy' && days >= 1 && !splits && slipping.chance(EARLY_SLOTS);
  if (slips) Object.assign(workspaces[0] ?? {}, RARE_CRON);
  const receivers = [
    { name: 'hook', digest: false },
    { name: 'slack', digest: random.chance(0.3) },
  ];
  const containers = random.chance(0.5);
  const counts = { busy: 4 + (4 * forMs) / HOUR_MS, days: 6 + days * 4, weeks: days / 2 };
  const pausesMs = workspaces.map(({ pauseMs }) => pauseMs);
  const cast = { forMs, pace, pausesMs, receivers: receivers.length };
  const drawn = drawHappenings(random, cast, random.between(pace === 'days' ? 2 : 4, counts[pace]));
  const syncing = new Random(seed * 0x9e37 + 2);
  const refusing = new Random(seed * 0x9e37 + 5);
  const refused = days >= 1 && refusing.chance(REFUSALS);
  const syncs = syncing.chance(SYNCS);
  const selling = new Random(seed * 0x9e37 + 6);
  const outlet = selling.chance(OUTLETS) ? selling.pick(['tenant_id', 'external_ref'] as const) : null;
  const scenes = pace === 'weeks' ? [...SCENES, ...SCENES_OF_WEEKS] : SCENES;
  const beside = [
    ...(splits ? drawSplits(splitting, cast) : []),
    ...(syncs ? drawSyncs(syncing, cast) : []),
    ...(refused ? drawRefusals(refusing, cast) : []),
    ...(outlet === null ? [] : drawOutlet(selling, cast)),
    ...scenes.flatMap(({ stream, share, draw }) => {
      const own = new Random(seed * 0x9e37 + stream);
      return own.chance(share) ? draw(own, cast).filter(({ atMs }) => atMs < forMs) : [];
    }),
  ];
  const happenings = slips ? [] : drawn;
  for (const one of slips ? drawEarlySlot(slipping, cast, startMs) : beside)
    happenings.push({ id: happenings.length, ...one });
  // It costs as much as ten short worlds, and weeks show more of what it is for.
  const quietDay = pace === 'weeks' || (random.chance(0.05) && days >= 1);
  const isFirstStart = random.chance(0.2);
  const lookMs = pace === 'weeks' ? RARE_LOOK_MS : LOOK_MS;
  const people = { receivers, containers, outlet };
  return { quietDay, isFirstStart, seed, startMs, forMs, lookMs, workspaces, ...people, happenings };
}

export function isLong({ lookMs }: Plan): boolean {
  return lookMs === RARE_LOOK_MS;
}

function drawPace(random: Random, days: number): Pace {
  if (days >= LONG_DAYS) return 'weeks';
  return days < 1 || random.chance(0.9) ? 'busy' : 'days';
}

function drawLength(random: Random, pace: Pace, days: number): number {
  if (pace === 'weeks') return days * DAY_MS;
  if (pace === 'days') return random.between(1, days) * DAY_MS;
  return random.between(days < 1 ? 2 : 4, days < 1 ? 4 : 12) * 30 * MINUTE_MS;
}

/** Any time of a year; now and then an hour before its month ends. */
function drawStart(random: Random): number {
  const month = random.below(12);
  if (random.chance(0.15)) return Date.UTC(2026, month + 1, 1) - random.between(30, 90) * MINUTE_MS;
  return Date.UTC(2026, month, random.between(1, 28), random.below(24), random.below(60));
}

function drawWorkspace(
  random: Random,
  { index, startMs, pace }: { index: number; startMs: number; pace: Pace },
): PlannedWorkspace {
  const { tenants: most, sinceDays } = SIZES[pace];
  const tenants = Array.from({ length: random.between(1, most) }, (_, number) => ({
    id: random.chance(0.3) ? random.pick(STRANGE_IDS) : `tenant-${number}`,
    sinceMs: startMs - random.between(-1, sinceDays) * DAY_MS,
    creditsPerDay: random.pick([0, 3, 200, 5_000, 1_000_000]),
  }));
  return {
    id: `ws-${index}`,
    ...random.pick(CRONS[pace]),
    reconcileCron: random.chance(0.5) ? RECONCILE_CRONS[pace] : '30 3 * * *',
    // Mostly so that there are several pages, and the last one is not full.
    perPage: random.pick([2, 3, 3, 5, 50]),
    concurrency: random.between(1, 4),
    tenants: [...new Map(tenants.map((tenant) => [tenant.id, tenant])).values()],
  };
}
