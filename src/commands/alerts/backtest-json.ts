import type {
  AlertOutline,
  Comparison,
  LeadTime,
  PaceOutcome,
  RuleCount,
  ShiftedAlert,
  Sides,
  TenantNoise,
} from '../../alerts/backtest/compare.ts';
import type { RecordedHistory } from '../../alerts/backtest/history.ts';
import { type LabelledRule, precisionPercent, recallPercent } from '../../alerts/backtest/labels.ts';
import type { AlertBaseline, AlertRuleSettings, AlertSettings } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';

/** What a backtest found, and of which settings. */
export interface BacktestAnswer {
  history: RecordedHistory;
  comparison: Comparison;
  labelled: readonly LabelledRule[];
  settings: Sides<AlertSettings>;
}

/** The whole answer as `--json` shows it. Durations are hours. */
export function backtestJson(answer: BacktestAnswer & { filters: object }): object {
  const { history, comparison, labelled, settings, filters } = answer;
  return {
    workspace_id: history.workspaceId,
    filters,
    history: { runs: history.runs, first_run_at: history.firstRunAt, last_run_at: history.lastRunAt },
    left_out: ['silences', 'plans', 'acknowledgements', 'alerts about ourselves'],
    settings: { today: settingsJson(settings.today), proposed: settingsJson(settings.proposed) },
    periods: comparison.periods.map(({ period, rules, total, tenants }) => ({
      period,
      total,
      tenants,
      rules: rules.map(ruleJson),
    })),
    rules: comparison.rules.map(ruleJson),
    total: comparison.total,
    tenants: comparison.tenants.map(noiseJson),
    lead_times: comparison.leads.map(({ rule, level, lead }) => ({
      ...{ rule, level },
      ...{ today: leadJson(lead.today), proposed: leadJson(lead.proposed) },
    })),
    paces: comparison.paces.map(({ rule, outcome }) => ({
      ...{ rule, today: paceJson(outcome.today), proposed: paceJson(outcome.proposed) },
    })),
    labels: labelled.map(labelledJson),
    only_today: comparison.only.today.map(outlineJson),
    only_proposed: comparison.only.proposed.map(outlineJson),
    shifted: comparison.shifted.map(shiftedJson),
  };
}

/** A tenant with how much is told of it. */
export function noiseJson({ tenantId, alerts, notifications }: TenantNoise): object {
  return { tenant_id: tenantId, alerts, notifications };
}

export function labelledJson({ rule, labelled, told, lost }: LabelledRule): object {
  const side = (counts: LabelledRule['labelled']) => ({
    ...{ told: counts, precision_percent: precisionPercent(counts), recall_percent: recallPercent(labelled, counts) },
  });
  return { rule, labelled, today: side(told.today), proposed: side(told.proposed), lost };
}

/** Settings by their names in the configuration. */
export function settingsJson({ tenants, ...rules }: AlertSettings): object {
  return { ...rulesJson(rules), tenants: tenants.map(({ match, rules: own }) => ({ match, ...rulesJson(own) })) };
}

function rulesJson({ ratio, minCredits, minIncrease, perDay, baseline, paceMinFraction }: AlertRuleSettings): object {
  return {
    ratio,
    min_credits: minCredits,
    min_increase: minIncrease,
    per_day: perDay,
    baseline: baselineJson(baseline),
    pace_min_fraction: paceMinFraction,
  };
}

function baselineJson(baseline: AlertBaseline): string | object {
  return typeof baseline === 'object' ? { median_of: baseline.medianOf } : baseline;
}

function ruleJson({ rule, counts }: RuleCount): object {
  return { rule, ...counts };
}

function leadJson({ alerts, medianMs, shortestMs, longestMs }: LeadTime): object {
  return {
    alerts,
    median_hours: hours(medianMs),
    shortest_hours: hours(shortestMs),
    longest_hours: hours(longestMs),
  };
}

export function paceJson({ told, cameTrue, neverTrue, undecided }: PaceOutcome): object {
  return { told, came_true: cameTrue, never_came_true: neverTrue, undecided };
}

function outlineJson({ rule, tenantId, period, level, firstMs }: AlertOutline): object {
  return { rule, tenant_id: tenantId, period, level, first_fired_at: isoTime(firstMs) };
}

function shiftedJson({ rule, tenantId, period, sides, laterMs }: ShiftedAlert): object {
  const side = ({ level, firstMs }: { level: string; firstMs: number }) => ({
    level,
    first_fired_at: isoTime(firstMs),
  });
  return {
    ...{ rule, tenant_id: tenantId, period, today: side(sides.today), proposed: side(sides.proposed) },
    later_hours: hours(laterMs),
  };
}

/** With two decimals. */
function hours(durationMs: number | null): number | null {
  return durationMs === null ? null : Math.round(durationMs / 36_000) / 100;
}
