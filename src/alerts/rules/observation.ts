import { LARGEST_FIGURE } from '../../core/figure.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
import type { PeriodPhase } from '../figures/period-phase.ts';
import type { Threshold } from '../figures/threshold.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Forecast } from '../forecast/forecast.ts';
import type { Judgement } from './judgement.ts';

/** What an alert is about: a rule, and a tenant, a period or a failing part. Each subject has one alert. */
export interface AlertSubject {
  rule: RuleName;
  /** Null for system alerts. */
  periodKey: number | null;
  /** Null for alerts about a workspace and for system alerts. */
  tenantKey: number | null;
  /** The failing part of a system alert, followed by a colon and its subject; null for alerts about usage. */
  cause?: string | null;
}

/** The predecessor of a tenant: the old id that it probably replaces. */
export interface PredecessorTenant {
  tenantKey: number;
  /** Credits a day: the predecessor's in its last four weeks, and the successor's since it began. */
  daily: bigint;
  newDaily: bigint;
  /** The last day on which the predecessor used credits, `YYYY-MM-DD`. */
  lastDay: string;
}

/** A rule's result about a subject, with its figures. */
export interface Observation extends AlertSubject {
  judgement: Judgement;
  /** The compared figures; for some rules an earlier reading of the same period. */
  previous: UsageFigures | null;
  current: UsageFigures | null;
  threshold: bigint | null;
  built: Threshold | null;
  /** Forecast of the open period; null if there is none. */
  forecast: Forecast | null;
  phase: PeriodPhase | null;
  /** The tenant's probable predecessor; null if none is known. */
  predecessor: PredecessorTenant | null;
  /** Growth shared by most tenants of a workspace, as a multiple; null if there is none. */
  commonGrowth: number | null;
  /** Details of a system alert, in words. */
  detail: string | null;
}

export function systemObservation(
  rule: RuleName,
  cause: string | null,
  judgement: Judgement,
  detail: string | null,
): Observation {
  return observation({ rule, cause, periodKey: null, tenantKey: null, judgement, detail });
}

/** Completes an observation with defaults. Forecasts are capped at the largest figure that the ledger can store. */
export function observation(
  seen: AlertSubject & { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'judgement'>>,
): Observation {
  const { judgement, threshold = null, forecast = null } = seen;
  const nothing = { previous: null, current: null, built: null, detail: null, phase: null };
  const held = { threshold: storable(threshold), forecast: storableForecast(forecast) };
  return {
    ...nothing,
    predecessor: null,
    commonGrowth: null,
    ...seen,
    ...held,
    judgement: storableJudgement(judgement),
  };
}

function storableJudgement(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  const { finding } = judgement;
  const held = { threshold: storable(finding.threshold), magnitude: storable(finding.magnitude) };
  return { verdict: 'holds', finding: { ...finding, ...held } };
}

function storableForecast(forecast: Forecast | null): Forecast | null {
  if (forecast === null) return null;
  const { low, likely, high } = forecast;
  return { low: least(low, LARGEST_FIGURE), likely: least(likely, LARGEST_FIGURE), high: least(high, LARGEST_FIGURE) };
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function storable(credits: bigint | null): bigint | null {
  return credits === null ? null : least(credits, LARGEST_FIGURE);
}
