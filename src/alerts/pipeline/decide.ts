import { ageMs } from '../../core/stored-time.ts';
import { LEVEL_RANK, type Level, type ToldEvent } from '../../core/text/alert-words.ts';

const HOUR_MS = 3_600_000;
/** A receiver hears of one alert at one level at most once in this time; the run at the same hour of the next day counts. */
const NEWS_EVERY_MS = 23.5 * HOUR_MS;
/** A fault of ours that begins so often in this time is flapping, until it has stayed as it is for an hour. */
const FLAPS = { begins: 5, withinMs: 6 * HOUR_MS, steadyMs: HOUR_MS };

/** The multiples of growth that are told, one after the other; the last one repeats. */
const STEPS = [
  { numerator: 3n, denominator: 2n },
  { numerator: 2n, denominator: 1n },
  { numerator: 3n, denominator: 1n },
  { numerator: 5n, denominator: 1n },
] as const;

export interface AlertNow {
  holding: boolean;
  episode: number;
  level: Level;
  measure: bigint | null;
  /** The measure is a set of facts, one bit each, of which each is told once. */
  isSet: boolean;
  acknowledged: boolean;
  /** One run found the cause gone; a second one ends the alert. */
  wanes: boolean;
  /** A fault of our own, with when it began and ended before, the latest last; null for what usage does. */
  own: { begins: readonly number[]; changedMs: number } | null;
}

/** What a receiver was last told of an alert; see `alert_notified`. */
export interface Notified {
  event: ToldEvent;
  episode: number;
  level: Level;
  notifiedCount: number;
  measure: bigint | null;
  open: boolean;
  atMs: number;
  atOnce: boolean;
}

/** Silences, plans and settings, as they concern one alert and one receiver. */
export interface Policy {
  routed: boolean;
  /** The fault of ours that explains the alert. */
  explainedBy: string | null;
  mute: { id: string; untilMs: number } | null;
  /** The limits of plans that it has passed, the lowest first. */
  passed: readonly bigint[];
  /** A receiver is reminded so long after the last message, unless somebody has acknowledged; null: never. */
  remindAfterMs: number | null;
}

export type News =
  | { event: ToldEvent; notifiedCount: number }
  /** No message until then; null: until something changes. */
  | { event: null; because: string; evaluateAtMs: number | null };

/** Decides what a receiver is to hear of an alert now: what is so, less what it was told. */
export function news(alert: AlertNow, told: Notified | null, policy: Policy, nowMs: number): News {
  const flapping = alert.own === null ? null : flaps(alert.own, alert.holding, told, nowMs);
  if (flapping?.event === null) return flapping;
  if (!alert.holding) return told?.open === true ? send('closed') : nothing('unheard');
  if (!policy.routed) return told?.open === true ? send('closed') : nothing('unrouted');
  if (policy.explainedBy !== null) return nothing(`inhibited:${policy.explainedBy}`);
  if (policy.mute !== null) return nothing(`silence:${policy.mute.id}`, policy.mute.untilMs);
  if (flapping !== null) return flapping;
  const change = changeOf(alert, told, policy);
  if (change === null) return remind(alert, told, policy, nowMs);
  if (alert.wanes) return nothing('waning');
  const waitMs = alert.own !== null || change.passed ? 0 : limitMs(change.event, alert, told, nowMs);
  return waitMs > 0 ? nothing('daily', nowMs + waitMs) : { event: change.event, notifiedCount: change.notifiedCount };
}

function changeOf(
  alert: AlertNow,
  told: Notified | null,
  { passed }: Policy,
): { event: ToldEvent; notifiedCount: number; passed?: boolean } | null {
  if (told === null || told.episode < alert.episode || (!told.open && told.event !== 'baseline')) {
    const again = told !== null && told.event !== 'baseline';
    return { event: again ? 'again' : 'opened', notifiedCount: 0 };
  }
  const steps = LEVEL_RANK[alert.level] - LEVEL_RANK[told.level];
  if (steps !== 0) return { event: steps > 0 ? 'worse' : 'eased', notifiedCount: 0 };
  const { measure } = alert;
  if (measure === null) return null;
  const within = told.measure;
  if (within !== null && passed.some((bound) => within <= bound)) {
    return { event: 'grown', notifiedCount: told.notifiedCount + 1, passed: true };
  }
  return hasGrown(alert, told) ? { event: 'grown', notifiedCount: told.notifiedCount + 1 } : null;
}

function hasGrown({ measure, isSet }: AlertNow, told: Notified): boolean {
  if (measure === null) return false;
  if (isSet) return (measure & ~(told.measure ?? 0n)) !== 0n;
  const step = STEPS[Math.min(told.notifiedCount, STEPS.length - 1)];
  if (step === undefined || told.measure === null || told.measure <= 0n) return false;
  return measure * step.denominator >= told.measure * step.numerator;
}

/** How long a message of this level has to wait, because one was sent less than a day ago. */
function limitMs(event: ToldEvent, { level }: AlertNow, told: Notified | null, nowMs: number): number {
  if (told === null || !told.atOnce || told.event === 'baseline') return 0;
  if (told.level !== level && event !== 'eased') return 0;
  const sinceMs = ageMs(told.atMs, nowMs);
  return sinceMs === null ? 0 : Math.max(0, NEWS_EVERY_MS - sinceMs);
}

function remind({ acknowledged }: AlertNow, told: Notified | null, { remindAfterMs }: Policy, nowMs: number): News {
  if (acknowledged) return nothing('acknowledged');
  if (remindAfterMs === null || told === null || !told.open) return nothing('told');
  const sinceMs = ageMs(told.atMs, nowMs) ?? 0;
  return sinceMs >= remindAfterMs
    ? { event: 'reminder', notifiedCount: told.notifiedCount }
    : nothing('told', nowMs + remindAfterMs - sinceMs);
}

/** What is told of a flapping fault; null when it does not flap. */
function flaps(own: NonNullable<AlertNow['own']>, holding: boolean, told: Notified | null, nowMs: number): News | null {
  const recent = own.begins.filter((beganMs) => (ageMs(beganMs, nowMs) ?? FLAPS.withinMs) < FLAPS.withinMs);
  const wasTold = told?.event === 'flapping';
  const steadyMs = ageMs(own.changedMs, nowMs) ?? FLAPS.steadyMs;
  if (steadyMs >= FLAPS.steadyMs) return wasTold && holding ? send('again') : null;
  if (wasTold) return nothing('flapping', nowMs + FLAPS.steadyMs - steadyMs);
  return recent.length >= FLAPS.begins && holding ? send('flapping') : null;
}

function send(event: ToldEvent): News {
  return { event, notifiedCount: 0 };
}

function nothing(because: string, evaluateAtMs: number | null = null): News {
  return { event: null, because, evaluateAtMs };
}
