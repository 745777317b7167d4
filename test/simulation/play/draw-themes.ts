import type { Random } from '../../support/random.ts';
import { BILLING_FAULTS } from '../world/billing.ts';
import { SETTINGS } from '../world/configuration.ts';
import { SERVICE_FAULTS, type ServiceFault } from '../world/network.ts';
import { RECEIVER_FAULTS } from '../world/receiver.ts';
import { DISK_FAULTS } from '../world/statements.ts';
import type { Cast, Drawn } from './draw-happenings.ts';
import type { CommandKind } from './happening.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Whom a theme is about, and how long it is from one slot of that workspace to the next. */
interface Subject {
  workspace: number;
  tenant: number;
  monthsAgo: number;
  pauseMs: number;
}

/** What comes one after the other to the same workspace, month or machine, and is harmless alone. */
type Theme = (random: Random, cast: Cast, subject: Subject) => Drawn[];

/** Faults after which nothing is read. */
const OUTAGES: readonly ServiceFault[] = ['refuse', 'forbid', 'break', 'hang', 'reset', 'garbage', 'html', 'throttle'];

/** Those that answer all the same. */
const LIES = SERVICE_FAULTS.filter((fault) => ![...OUTAGES, 'slow'].includes(fault));

/** A month is closed, corrected, reopened and closed again, and its cards change meanwhile. */
const books: Theme = (random, cast, { workspace, tenant, monthsAgo, pauseMs }) => {
  const typed = (command: CommandKind): Step => ({
    ...{ kind: 'command', command, workspace, monthsAgo },
    tenant: command === 'rates' ? random.below(9) : tenant,
  });
  const whose = (): number => (random.chance(0.7) ? tenant : random.below(9));
  const restate = (): Step => {
    return { kind: 'restate', workspace, tenant: whose(), monthsAgo, credits: random.between(-50_000, 50_000) };
  };
  const forget = (): Step => {
    const forMs = random.pick([2 * pauseMs, cast.forMs]);
    return { kind: 'forget', workspace, tenant: whose(), monthsAgo, forMs, returns: random.chance(0.5) };
  };
  const acts = [
    ...[restate, restate, restate, forget, forget, () => typed('rates'), () => typed('rates')],
    ...[() => typed('reopen'), () => typed('reopen'), () => typed('close'), () => typed('close')],
    ...[() => typed('statement'), () => typed('sync'), () => typed('names')],
  ];
  const later = Array.from({ length: random.between(4, 8) }, () => random.pick(acts)());
  return inTurn([typed('rates'), typed('close'), ...later], MINUTE_MS, () => {
    return random.pick([MINUTE_MS, 1.5 * pauseMs, 1.5 * pauseMs]);
  });
};

/** A service fails, comes back, and fails again before the day is over. */
const outages: Theme = (random, cast, { workspace, pauseMs }) => {
  const whom = random.chance(0.3) ? cast.pausesMs.map((_, index) => index) : [workspace];
  const drawn: Drawn[] = [];
  let atMs = random.between(5, 20) * MINUTE_MS;
  for (let times = random.between(2, 4); times > 0; times -= 1) {
    const forMs = Math.round(random.pick([1.2, 2.5, 4]) * pauseMs) + random.pick([0, 10, 40]) * MINUTE_MS;
    const fault = random.pick(OUTAGES);
    for (const one of whom)
      drawn.push({ atMs, during: null, kind: 'service', workspace: one, fault, probability: 1, forMs });
    atMs += forMs + random.pick([0.5, 1.5, 1.5, 3]) * pauseMs;
  }
  return drawn;
};

/** Somebody mutes what then grows, by silences alone or by plans, which a silence would hide. */
const hushed: Theme = (random, _cast, { workspace, tenant, pauseMs }) => {
  const kind = random.pick(['silence', 'plan'] as const);
  const mute = (): Step => {
    const command = random.pick([kind, kind, kind, 'ack'] as const);
    // Mostly for longer, and up to more, than it grows.
    return { kind: 'command', command, workspace, tenant: random.pick([3, 5, 7, 8, 8]), monthsAgo: 0 };
  };
  const grow = (): Step =>
    random.chance(0.4)
      ? { kind: 'bulge', workspace, tenant, times: random.pick([5, 300]) }
      : { kind: 'restate', workspace, tenant, monthsAgo: random.pick([0, 0, 1]), credits: 10 ** random.between(3, 7) };
  const steps = Array.from({ length: random.between(2, 4) }, () => [mute(), grow(), grow()]).flat();
  const fromMs = random.pick([2 * MINUTE_MS, pauseMs + 5 * MINUTE_MS]);
  return inTurn(steps, fromMs, () => random.pick([MINUTE_MS, 1.5 * pauseMs]));
};

/** A service answers, but not as it should, in one way after the other, while nothing else is wrong. */
const lies: Theme = (random, _cast, { workspace, pauseMs }) => {
  const steps = random.shuffled(LIES).map((fault): Step => {
    return { kind: 'service', workspace, fault, probability: 1, forMs: Math.round(1.4 * pauseMs) };
  });
  return inTurn(steps, random.between(5, 20) * MINUTE_MS, () => random.pick([1.5, 1.5, 2.5]) * pauseMs);
};

/** A clock is ahead, and whoever works by it dies in the middle; the machine comes back with a clock that is right. */
const leaps: Theme = (random, _cast, { pauseMs }) => {
  const atMs = random.between(5, 30) * MINUTE_MS;
  const forMs = random.pick([1.5, 3]) * pauseMs + 10 * MINUTE_MS;
  const stepMs = random.pick([50 * MINUTE_MS, 9 * HOUR_MS, 9 * HOUR_MS, 40 * DAY_MS]);
  const deaths = Array.from({ length: random.between(1, 3) }, (): Drawn => {
    const during = {
      step: random.pick(['request', 'request', 'request', 'commit'] as const),
      nth: random.between(1, 3),
    };
    const afterSteps = random.pick([1, 1, 2, 5]);
    const whenMs = atMs + random.below(forMs);
    return { atMs: whenMs, during, kind: 'kill', afterSteps, reboot: random.chance(0.7) };
  });
  return [{ atMs, during: null, kind: 'clock', stepMs, forMs }, ...deaths];
};

/** The configuration changes, and back, beside what is open and grows. */
const changes: Theme = (random, _cast, { workspace, tenant, pauseMs }) => {
  const act = (): Step => {
    const fault = random.pick(OUTAGES);
    return random.pick<Step>([
      { kind: 'configure', settings: random.pick(SETTINGS) },
      { kind: 'configure', settings: 'plain' },
      { kind: 'bulge', workspace, tenant, times: random.pick([0, 5, 300]) },
      { kind: 'service', workspace, fault, probability: 1, forMs: Math.round(random.pick([1.2, 3]) * pauseMs) },
    ]);
  };
  const steps = Array.from({ length: random.between(4, 8) }, act);
  return inTurn(steps, random.between(5, 20) * MINUTE_MS, () => random.pick([1.5 * pauseMs, 1.5 * pauseMs, DAY_MS]));
};

const THEMES: readonly Theme[] = [books, books, outages, hushed, hushed, lies, lies, changes];

export function drawTheme(random: Random, cast: Cast): Drawn[] {
  // Mostly the one in which most happens meanwhile.
  const busiest = cast.pausesMs.indexOf(Math.min(...cast.pausesMs));
  const workspace = random.chance(0.7) ? busiest : random.below(cast.pausesMs.length);
  const subject = {
    ...{ workspace, tenant: random.below(9), monthsAgo: random.pick([1, 1, 1, 2]) },
    pauseMs: cast.pausesMs[workspace] ?? 0,
  };
  const theme = random.pick(cast.pace === 'weeks' ? THEMES : [...THEMES, leaps, leaps]);
  const fromMs = cast.pace === 'busy' ? 0 : random.below(0.8 * cast.forMs);
  const drawn = theme(random, cast, subject).map((one) => ({ ...one, atMs: Math.round(one.atMs + fromMs) }));
  return drawn.filter(({ atMs }) => atMs < cast.forMs);
}

/** A machine is split, mostly; else somebody takes that back. */
export function drawSplit(random: Random, { forMs }: Cast, workspace: number): Extract<Step, { kind: 'split' }> {
  const gapMs = random.pick([0, 5 * MINUTE_MS, 40 * MINUTE_MS, 0.2 * forMs]);
  const dies = random.chance(0.6) ? random.between(1, 1200) : null;
  const disk = random.chance(0.3) ? random.pick(DISK_FAULTS) : null;
  const diesRestoring = dies === null ? null : Math.ceil(dies / 3);
  return { kind: 'split', workspace, gapMs, resumed: random.chance(0.25), dies, diesRestoring, disk };
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

/** All services refuse us for hours, so that they are asked ever more rarely; just after they were asked the channels change. */
export function drawRefusals(random: Random, { pausesMs, pace, forMs: lengthMs }: Cast): Drawn[] {
  // In weeks a channel may hear of it much later.
  if (pace === 'weeks') return [];
  const fromMs = random.between(1, 5) * MINUTE_MS + (pace === 'busy' ? 0 : random.below(0.8 * lengthMs));
  const refused = pausesMs.map((_, workspace): Drawn => {
    const forMs = 6 * HOUR_MS;
    return { kind: 'service', workspace, fault: 'forbid', probability: 1, forMs, atMs: fromMs, during: null };
  });
  const atMs = fromMs + random.pick([40, 60, 60, 90]) * MINUTE_MS;
  const during = { step: 'request', nth: 1 } as const;
  return [...refused, { kind: 'configure', settings: 'renamed', atMs, during }];
}

/** From one slot to the next it is so long that nobody looks otherwise in between. */
export const RARE_CRON = { cron: '15 */2 * * *', pauseMs: 2 * HOUR_MS, reconcileCron: '30 3 * * *' };

/**
 * Clocks ahead do a slot of the first workspace early; from when they are right until the slot has come its service is out.
 * Whatever else happens would do the slot, so nothing does.
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
  return [
    { kind: 'clock', ...aheadMs, atMs: beganMs, during: null },
    { ...outage, probability: 1, forMs, atMs: rightMs, during: null },
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
  return [
    ...(open === null ? [] : [{ ...open, atMs: beganMs, during: null }]),
    { ...split, atMs, during },
    ...(settings === null ? [] : [{ kind: 'configure' as const, settings, atMs: changedMs, during: null }]),
    ...(split.resumed ? [{ ...split, resumed: false, atMs: changedMs + HOUR_MS, during: null }] : []),
  ];
}

/** A tenant leaves the listing for some slots, for good or not, or only the listing lacks it. */
export function drawAbsence(random: Random, cast: Cast): Drawn[] {
  const pauseMs = Math.min(...cast.pausesMs);
  const workspace = cast.pausesMs.indexOf(pauseMs);
  const tenant = random.below(9);
  const atMs = Math.round((0.1 + 0.4 * random.below(1000) * 0.001) * cast.forMs);
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
  const pauseMs = Math.min(...cast.pausesMs);
  const workspace = cast.pausesMs.indexOf(pauseMs);
  const when = { atMs: Math.round((0.05 + 0.3 * random.below(1000) * 0.001) * cast.forMs), during: null };
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
  const moment = (from: number): number => Math.round((from + (0.9 - from) * random.below(1000) * 0.001) * cast.forMs);
  const typed = (command: CommandKind, atMs: number, workspace = 0): Drawn => {
    return { kind: 'command', command, workspace, tenant: 0, monthsAgo: 0, atMs, during: null };
  };
  const begunMs = Math.round(random.pick([0.05, 0.1, 0.3]) * cast.forMs);
  const drawn = [typed('begin', begunMs), typed('begin', moment(0.2))];
  for (const [workspace] of cast.pausesMs.entries())
    if (random.chance(0.7)) drawn.push(typed('names', moment(0.1), workspace));
  for (let times = random.below(4); times > 0; times -= 1) drawn.push(typed('push', moment(0.3)));
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

type Step = Drawn extends infer Kind ? (Kind extends Drawn ? Omit<Kind, 'atMs' | 'during'> : never) : never;

/** One after the other, with a gap before each but the first. */
function inTurn(steps: readonly Step[], fromMs: number, gapMs: () => number): Drawn[] {
  let atMs = fromMs;
  return steps.map((step): Drawn => {
    const one = { ...step, atMs, during: null };
    atMs += gapMs();
    return one;
  });
}
