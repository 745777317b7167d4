import type { Random } from '../../support/random.ts';
import { BILLING_FAULTS } from '../world/billing.ts';
import { SETTINGS } from '../world/configuration.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import type { Cast, Drawn } from './draw-happenings.ts';
import { inTurn, OUTAGES, type Step } from './draw-themes.ts';
import type { CommandKind } from './happening.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A machine is split, mostly; else somebody takes that back. */
export function drawSplit(random: Random, { forMs }: Cast, workspace: number): Extract<Step, { kind: 'split' }> {
  const gapMs = random.pick([0, 5 * MINUTE_MS, 40 * MINUTE_MS, 0.2 * forMs]);
  const dies = random.chance(0.6) ? random.between(1, 1200) : null;
  const disk = random.chance(0.3) ? random.pick(DISK_FAULTS) : null;
  const diesRestoring = dies === null ? null : Math.ceil(dies / 3);
  return { kind: 'split', workspace, gapMs, resumed: random.chance(0.25), dies, diesRestoring, disk, twice: false };
}

/** Somebody syncs a workspace by hand again and again, beside the daemon, which dies, stops and fails to read it meanwhile. */
export function drawSyncs(random: Random, cast: Cast): Drawn[] {
  const workspace = random.below(cast.pausesMs.length);
  const pauseMs = cast.pausesMs[workspace] ?? 0;
  const sync = (): Step => ({ kind: 'command', command: 'sync', workspace, tenant: 0, monthsAgo: 0 });
  const outage = (): Step => {
    const forMs = Math.round(random.pick([1.2, 3, 6]) * pauseMs) + random.pick([0, HOUR_MS]);
    return { kind: 'service', workspace, fault: random.pick(OUTAGES), probability: 1, forMs };
  };
  const acts = [
    ...[sync, sync, sync, outage],
    (): Step => ({ kind: 'configure', settings: random.pick(SETTINGS) }),
    (): Step => ({ kind: 'stop', downMs: random.pick([2_000, MINUTE_MS]) }),
    (): Step => ({ kind: 'kill', afterSteps: random.between(1, 60), reboot: false }),
    (): Step => ({ kind: 'bulge', workspace, tenant: random.below(9), times: random.pick([0, 5, 300]) }),
  ];
  const later = Array.from({ length: random.between(3, 7) }, () => random.pick(acts)());
  const fromMs = cast.pace === 'busy' ? 0 : random.below(0.8 * cast.forMs);
  const drawn = inTurn([sync(), ...later], fromMs + random.between(2, 20) * MINUTE_MS, () => {
    return Math.round(random.pick([5 * MINUTE_MS, 40 * MINUTE_MS, 0.7 * pauseMs, pauseMs]));
  });
  return drawn.filter(({ atMs }) => atMs < cast.forMs);
}

/** All services refuse us for hours, so that they are asked ever more rarely; meanwhile the channels change. */
export function drawRefusals(random: Random, { pausesMs, pace, forMs: lengthMs }: Cast): Drawn[] {
  // In weeks a channel may hear of it much later.
  if (pace === 'weeks') return [];
  const fromMs = random.between(1, 5) * MINUTE_MS + (pace === 'busy' ? 0 : random.below(0.8 * lengthMs));
  const refused = pausesMs.map((_, workspace): Drawn => {
    const forMs = 6 * HOUR_MS;
    return { kind: 'service', workspace, fault: 'forbid', probability: 1, forMs, atMs: fromMs, during: null };
  });
  const atMs = fromMs + random.pick([40, 60, 60, 90]) * MINUTE_MS;
  // Who stops in the middle of a run asks again as soon as it is started.
  const during = random.chance(0.3) ? ({ step: 'request', nth: 1 } as const) : null;
  return [...refused, { kind: 'configure', settings: 'renamed', atMs, during }];
}

/** From one slot to the next it is so long that nobody looks otherwise in between. */
export const RARE_CRON = { cron: '15 */2 * * *', pauseMs: 2 * HOUR_MS, reconcileCron: '30 3 * * *' };

/**
 * Clocks ahead do a slot of the first workspace early, or begin to. From when they are right until the slot has come its service
 * is out, or all is well. Whatever else happens would do the slot, so nothing does.
 */
export function drawEarlySlot(random: Random, { forMs: lengthMs }: Cast, startMs: number): Drawn[] {
  const { pauseMs } = RARE_CRON;
  const slotMs = Math.ceil((startMs + 35 * MINUTE_MS) / pauseMs) * pauseMs + 15 * MINUTE_MS - startMs;
  if (slotMs > lengthMs) return [];
  const beganMs = slotMs - random.between(20, 40) * MINUTE_MS;
  const rightMs = beganMs + 9 * MINUTE_MS;
  const aheadMs = { stepMs: 50 * MINUTE_MS, forMs: rightMs - beganMs };
  const outage = { kind: 'service', workspace: 0, fault: random.pick(['refuse', 'break', 'reset'] as const) } as const;
  const forMs = slotMs + random.between(1, 8) * MINUTE_MS - rightMs;
  const ahead: Drawn = { kind: 'clock', ...aheadMs, atMs: beganMs, during: null };
  if (random.chance(0.5)) return [ahead, { ...outage, probability: 1, forMs, atMs: rightMs, during: null }];
  // Or who does it early dies on the way, and the job is left to who is started again, by a clock that is right.
  const atMs = slotMs - 45 * MINUTE_MS;
  const during = { step: 'request', nth: 1 } as const;
  return [
    { ...ahead, atMs },
    { kind: 'kill', afterSteps: 1, reboot: true, atMs, during },
  ];
}

/** A machine is split while something of the workspace that goes is open, and the configuration changes. */
export function drawSplits(random: Random, cast: Cast): Drawn[] {
  const workspace = random.below(cast.pausesMs.length);
  const pauseMs = cast.pausesMs[workspace] ?? 0;
  const split = drawSplit(random, cast, workspace);
  const atMs = Math.round(0.1 * cast.forMs) + random.below(0.5 * cast.forMs);
  const step = random.pick(['request', 'commit', 'delivery'] as const);
  const during = random.chance(0.4) ? { step, nth: random.between(1, 3) } : null;
  const beganMs = Math.max(0, atMs - 3 * pauseMs);
  const endMs = Math.max(beganMs, atMs + split.gapMs + random.pick([-1, 0.5, 1.5]) * pauseMs);
  const open = random.pick<Step | null>([
    null,
    { kind: 'service', workspace, fault: random.pick(OUTAGES), probability: 1, forMs: Math.round(endMs - beganMs) },
    { kind: 'bulge', workspace, tenant: random.below(9), times: 300 },
  ]);
  const settings = random.pick([null, 'renamed', 'reminders', 'narrow_routes'] as const);
  const changedMs = Math.round(atMs + random.pick([0.3, 1, 1.5]) * split.gapMs + 10 * MINUTE_MS);
  // In the middle of what it brings.
  if (random.chance(0.5)) split.diesRestoring = random.between(180, 250);
  split.twice = random.chance(0.3);
  return [
    ...(open === null ? [] : [{ ...open, atMs: beganMs, during: null }]),
    { ...split, atMs, during },
    ...(settings === null ? [] : [{ kind: 'configure' as const, settings, atMs: changedMs, during: null }]),
    ...(split.resumed ? [{ ...split, resumed: false, atMs: changedMs + HOUR_MS, during: null }] : []),
  ];
}

/** A tenant leaves the listing for some slots, for good or not, or only the listing lacks it. */
export function drawAbsence(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  const tenant = random.below(9);
  const atMs = partOf(random, cast, 0.1, 0.5);
  const forMs = random.between(3, 6) * pauseMs;
  const when = { atMs, during: null, workspace, tenant, forMs };
  if (random.chance(0.5)) return [{ ...when, kind: 'unlist' }];
  const sync = { kind: 'command', command: 'sync', workspace, tenant, monthsAgo: 0, during: null } as const;
  // So soon that the service says the same.
  const syncs = random.chance(0.5) ? [1, 3].map((minutes) => ({ ...sync, atMs: atMs + minutes * MINUTE_MS })) : [];
  return [{ ...when, kind: 'forget', monthsAgo: random.pick([0, 1, 1]), returns: random.chance(0.5) }, ...syncs];
}

/** A service fails while a receiver does not listen. */
export function drawDeafness(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  const when = { atMs: partOf(random, cast, 0.05, 0.35), during: null };
  const outageMs = Math.round(random.pick([1.2, 2.5, 4]) * pauseMs) + 10 * MINUTE_MS;
  const deafMs = random.pick([20 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS]);
  const fault = random.pick(RECEIVER_FAULTS);
  const probability = random.pick([0.5, 1]);
  return [
    { ...when, kind: 'receiver', receiver: random.below(cast.receivers), fault, probability, forMs: deafMs },
    { ...when, kind: 'service', workspace, fault: random.pick(OUTAGES), probability: 1, forMs: outageMs },
  ];
}

/** Usage goes on to where it is billed: begun, in the middle of it killed or by hand beside, and badly answered. */
export function drawOutlet(random: Random, cast: Cast): Drawn[] {
  const moment = (from: number): number => partOf(random, cast, from, 0.9);
  const begunMs = Math.round(random.pick([0.05, 0.1, 0.3]) * cast.forMs);
  const drawn = [typed('begin', { atMs: begunMs, workspace: 0 }), typed('begin', { atMs: moment(0.2), workspace: 0 })];
  for (const [workspace] of cast.pausesMs.entries())
    if (random.chance(0.7)) drawn.push(typed('names', { atMs: moment(0.1), workspace }));
  for (let times = random.below(4); times > 0; times -= 1)
    drawn.push(typed('push', { atMs: moment(0.3), workspace: 0 }));
  for (let times = random.between(1, 4); times > 0; times -= 1) {
    const forMs = Math.min(random.pick([0.02, 0.1, 0.3]) * cast.forMs, 2 * DAY_MS);
    const probability = random.pick([0.3, 1]);
    const atMs = random.pick([begunMs, moment(0.1)]);
    drawn.push({ kind: 'billing', fault: random.pick(BILLING_FAULTS), probability, forMs, atMs, during: null });
  }
  for (let times = random.below(3); times > 0; times -= 1) {
    const during = { step: 'push' as const, nth: random.between(1, 4) };
    drawn.push({ kind: 'kill', afterSteps: random.pick([1, 1, 2, 5]), reboot: false, atMs: moment(0.1), during });
  }
  return drawn;
}

/** A daemon stands still in the middle of a run, or reads a slow service for minutes, and somebody syncs by hand meanwhile. */
export function drawOvertaken(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  if (pauseMs > HOUR_MS) return [];
  const atMs = partOf(random, cast, 0.05, 0.6);
  const forMs = pauseMs + 15 * MINUTE_MS;
  const sync = (atMs: number): Drawn => typed('sync', { atMs, workspace });
  if (random.chance(0.4)) {
    const slow = { kind: 'service', workspace, fault: 'slow', probability: 1, forMs, atMs, during: null } as const;
    return [slow, ...Array.from({ length: 4 }, () => sync(atMs + random.below(forMs)))];
  }
  const during = { step: 'request', nth: random.between(1, 6) } as const;
  const freeze = { kind: 'freeze', forMs, atMs, during } as const;
  return [freeze, ...[2, 5, 8].map((minutes) => sync(atMs + pauseMs + minutes * MINUTE_MS))];
}

/** What grows has been muted just before. */
export function drawMutedGrowth(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  const atMs = partOf(random, cast, 0.15, 0.6);
  const mute = typed(random.pick(['plan', 'plan', 'silence']), { atMs, workspace, tenant: random.pick([7, 8]) });
  const grown = Array.from({ length: 4 }, (_, index): Drawn => {
    const credits = 10 ** random.between(4, 7);
    const when = { atMs: atMs + MINUTE_MS + random.below(pauseMs), during: null };
    return { ...when, kind: 'restate', workspace, tenant: index, monthsAgo: 0, credits };
  });
  return [mute, ...grown];
}

/** Who has just written a message dies before it is sent, and is not started again at once. */
export function drawUnsent(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  const atMs = partOf(random, cast, 0.05, 0.5);
  const during = { step: 'message', nth: random.between(1, 2) } as const;
  const forMs = Math.round(random.pick([2.5, 4]) * pauseMs) + 20 * MINUTE_MS;
  return [
    { kind: 'kill', afterSteps: random.between(2, 14), reboot: false, atMs, during },
    { kind: 'stop', downMs: random.pick([4 * MINUTE_MS, 30 * MINUTE_MS]), atMs, during },
    { kind: 'service', workspace, fault: random.pick(OUTAGES), probability: 1, forMs, atMs, during: null },
  ];
}

/** A month is corrected after its close, and then reopened. */
export function drawReopening(random: Random, cast: Cast): Drawn[] {
  const { workspace, pauseMs } = busiest(cast);
  const atMs = partOf(random, cast, 0.1, 0.5);
  const month = (command: CommandKind, atMs: number): Drawn => typed(command, { atMs, workspace, monthsAgo: 1 });
  const corrected = [0, 1, 2].map((tenant): Drawn => {
    const credits = random.between(-50_000, 50_000);
    return { kind: 'restate', workspace, tenant, monthsAgo: 1, credits, atMs: atMs + 2 * MINUTE_MS, during: null };
  });
  const cards = typed('rates', { atMs, workspace, tenant: random.below(9) });
  const reopenedMs = atMs + Math.round(2.5 * pauseMs) + 10 * MINUTE_MS;
  return [cards, month('close', atMs + MINUTE_MS), ...corrected, month('reopen', reopenedMs)];
}

/** A receiver refuses what it hears of one workspace, and takes what it hears of another one days later. */
export function drawGivenUp(random: Random, { pausesMs, receivers, ...cast }: Cast): Drawn[] {
  if (pausesMs.length < 2) return [];
  const atMs = partOf(random, cast, 0.1, 0.7);
  const outage = (workspace: number, fromMs: number, forMs: number): Drawn => {
    return { kind: 'service', workspace, fault: 'forbid', probability: 1, forMs, atMs: fromMs, during: null };
  };
  const refusing = { kind: 'receiver', receiver: random.below(receivers), fault: 'refuse', probability: 1 } as const;
  return [
    { ...refusing, forMs: random.pick([1.5, 2.5]) * DAY_MS, atMs, during: null },
    outage(0, atMs, 9 * DAY_MS),
    outage(1, atMs + 4 * DAY_MS, 2 * DAY_MS),
  ];
}

/** What somebody has acknowledged goes on for days, where reminders are wanted. */
export function drawInHand(random: Random, cast: Cast): Drawn[] {
  const { workspace } = busiest(cast);
  const atMs = partOf(random, cast, 0.1, 0.8);
  const outage = { kind: 'service', workspace, fault: 'forbid', probability: 1, forMs: 4 * DAY_MS } as const;
  return [
    { kind: 'configure', settings: 'reminders', atMs, during: null },
    { ...outage, atMs: atMs + MINUTE_MS, during: null },
    ...[30, 31, 54].map((hours) => typed('ack', { atMs: atMs + hours * HOUR_MS, workspace })),
  ];
}

/** A service corrects months that only a reconciliation asks for. */
export function drawOldMonths(random: Random, cast: Cast): Drawn[] {
  return Array.from({ length: 6 }, (): Drawn => {
    const workspace = random.below(cast.pausesMs.length);
    const whom = { workspace, tenant: random.below(7), monthsAgo: random.pick([3, 4]) };
    const credits = random.between(1_000, 50_000);
    return { kind: 'restate', ...whom, credits, atMs: partOf(random, cast, 0.1, 0.8), during: null };
  });
}

/** The workspace in which most happens. */
function busiest({ pausesMs }: Cast): { workspace: number; pauseMs: number } {
  const pauseMs = Math.min(...pausesMs);
  return { workspace: pausesMs.indexOf(pauseMs), pauseMs };
}

/** A moment between two parts of the whole time. */
function partOf(random: Random, { forMs }: Pick<Cast, 'forMs'>, from: number, to: number): number {
  return Math.round((from + (to - from) * random.below(1000) * 0.001) * forMs);
}

function typed(
  command: CommandKind,
  { atMs, ...whom }: { atMs: number; workspace: number; tenant?: number; monthsAgo?: number },
): Drawn {
  return { kind: 'command', command, tenant: 0, monthsAgo: 0, ...whom, atMs, during: null };
}
