import type { Random } from '../../support/random.ts';
import { SETTINGS } from '../world/configuration.ts';
import { SERVICE_FAULTS, type ServiceFault } from '../world/network.ts';
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
export const OUTAGES: readonly ServiceFault[] = [
  'refuse',
  'forbid',
  'break',
  'hang',
  'reset',
  'garbage',
  'html',
  'throttle',
];

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

export type Step = Drawn extends infer Kind ? (Kind extends Drawn ? Omit<Kind, 'atMs' | 'during'> : never) : never;

/** One after the other, with a gap before each but the first. */
export function inTurn(steps: readonly Step[], fromMs: number, gapMs: () => number): Drawn[] {
  let atMs = fromMs;
  return steps.map((step): Drawn => {
    const one = { ...step, atMs, during: null };
    atMs += gapMs();
    return one;
  });
}
