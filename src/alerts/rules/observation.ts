import { LARGEST_FIGURE } from '../../core/figure.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
import type { PeriodPhase } from '../figures/period-phase.ts';
import type { Threshold } from '../figures/threshold.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Forecast } from '../forecast/forecast.ts';
import type { Judgement } from './judgement.ts';

export interface AlertSubject {
  rule: RuleName;
  /** Null for alerts about ourselves. */
  periodKey: number | null;
  /** Null for alerts about the workspace or ourselves. */
  tenantKey: number | null;
  /** What is wrong with our own work, after a colon whose it is; null for what usage does. */
  cause?: string | null;
}

/** The tenant whose new id another one probably is. */
export interface Former {
  tenantKey: number;
  /** Credits a day, of its last four weeks, and of the newcomer since its first. */
  daily: bigint;
  newDaily: bigint;
  /** The day of its last use, ISO. */
  lastDay: string;
}

/** What a rule said of a subject, with the figures behind it. */
export interface Observation extends AlertSubject {
  judgement: Judgement;
  /** What the current figures are compared with; for some rules an earlier reading of the same period. */
  previous: UsageFigures | null;
  current: UsageFigures | null;
  threshold: bigint | null;
  built: Threshold | null;
  /** What the open period comes to; null when nothing says so. */
  forecast: Forecast | null;
  phase: PeriodPhase | null;
  /** Whose new id the tenant probably is; null when nobody's. */
  former: Former | null;
  /** Of a workspace: by how many times most of its tenants have grown; null where that is not so. */
  commonGrowth: number | null;
  /** Words for alerts about ourselves. */
  detail: string | null;
}

export function ownObservation(
  rule: RuleName,
  cause: string | null,
  judgement: Judgement,
  detail: string | null,
): Observation {
  return observation({ rule, cause, periodKey: null, tenantKey: null, judgement, detail });
}

/** An observation with what most of them do not have. What is only foretold may be more than the ledger can hold. */
export function observation(
  seen: AlertSubject & { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'judgement'>>,
): Observation {
  const { judgement, threshold = null, forecast = null } = seen;
  const nothing = { previous: null, current: null, built: null, detail: null, phase: null };
  const held = { threshold: holdable(threshold), forecast: holdableForecast(forecast) };
  return { ...nothing, former: null, commonGrowth: null, ...seen, ...held, judgement: holdableJudgement(judgement) };
}

function holdableJudgement(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  const { finding } = judgement;
  const held = { threshold: holdable(finding.threshold), measure: holdable(finding.measure) };
  return { verdict: 'holds', finding: { ...finding, ...held } };
}

function holdableForecast(forecast: Forecast | null): Forecast | null {
  if (forecast === null) return null;
  const { low, likely, high } = forecast;
  return { low: least(low, LARGEST_FIGURE), likely: least(likely, LARGEST_FIGURE), high: least(high, LARGEST_FIGURE) };
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function holdable(credits: bigint | null): bigint | null {
  return credits === null ? null : least(credits, LARGEST_FIGURE);
}
