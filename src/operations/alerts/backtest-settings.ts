import { z } from 'zod';
import type { Accuracy } from '../../alerts/backtest/accuracy.ts';
import { type BacktestRequest, backtest } from '../../alerts/backtest/backtest.ts';
import { FEEDBACK_LABELS } from '../../alerts/state/feedback.ts';
import type { AlertSettings } from '../../config/types.ts';
import { LEVELS, RULES } from '../../core/text/alert-words.ts';
import { windowBounds } from '../../ledger/store/schema/keys.ts';
import { documentOperation, type Scope } from '../operation.ts';
import { idText, periodText } from '../schemas.ts';
import { selectedWindow } from '../selected-periods.ts';
import { chooseWorkspace } from '../workspace-choice.ts';

const input = z.strictObject({
  workspace: idText.optional().describe('the workspace; required if there are several'),
  ratio: z.number().min(1).optional().describe("instead of the workspace's `ratio`; tenants keep their own"),
  min_credits: z.int().min(0).optional().describe("instead of the workspace's `min_credits`; tenants keep their own"),
  from: periodText.optional().describe('the first month'),
  to: periodText.optional().describe('the last month'),
});

const forecast = z.strictObject({
  forecasts: z.int().describe('notified forecasts'),
  held: z.int().describe("forecasts whose range contained the month's total"),
  forecast_to_actual: z
    .number()
    .nullable()
    .describe('forecast growth divided by actual growth; null without a forecast'),
});

const output = z.strictObject({
  workspace_id: z.string(),
  filters: z.strictObject({ from_period: z.string().nullable(), to_period: z.string().nullable() }),
  history: z.strictObject({ runs: z.int(), first_run_at: z.string(), last_run_at: z.string() }),
  settings: z.strictObject({
    ratio: z.number(),
    min_credits: z.number(),
    baseline: z.enum(['previous', 'same_month_last_year']),
    tenant_patterns: z.int().describe('patterns of tenants with settings of their own'),
  }),
  accuracy: z.strictObject({
    likely: forecast,
    happened: forecast,
    notified_as_likely: z.int(),
    came_true: z.int(),
    lead_days: z.number().nullable(),
    messages_a_day: z.number(),
  }),
  alerts: z.array(
    z.strictObject({
      period: periodText,
      rule: z.enum(RULES),
      tenant_id: z.string().nullable().describe('null: the workspace'),
      level: z
        .enum(LEVELS)
        .nullable()
        .describe('the highest level; null if the alert has a label and these settings would not have raised it'),
      first_fired_at: z.string().nullable(),
      notifications: z.int(),
      label: z.enum(FEEDBACK_LABELS).nullable(),
    }),
  ),
});

export type BacktestInput = z.output<typeof input>;
export type BacktestRecord = z.output<typeof output>;

export const backtestSettings = documentOperation({
  name: 'alerts.backtest',
  summary: 'Show which alerts other settings would have raised over the recorded history',
  details:
    'Use it for questions about settings: how many alerts a ratio or min_credits would have raised, and how many of the labelled ones. It replays the whole history of a workspace, which takes seconds. Silences, plans, acknowledgements and system alerts are not replayed.',
  role: 'read',
  input,
  output,
  http: { method: 'GET', path: '/alerts/backtest' },
  command: 'alerts backtest',
  isSlow: true,
  run: (scope, wanted) => replayHistory(scope, wanted),
});

/**
 * Replays the recorded history of a workspace with these settings. If `onProgress` is given, it is called repeatedly
 * during the replay.
 */
export async function replayHistory(
  { connection, context, signal }: Scope,
  { workspace, from, to, ...overrides }: BacktestInput,
  onProgress?: BacktestRequest['onProgress'],
): Promise<BacktestRecord> {
  const chosen = chooseWorkspace(context.config, workspace);
  const [first, last] = windowBounds({ from: null, to: null, ...selectedWindow({ from, to }) });
  const rules = withOverrides(chosen.alerts, overrides);
  const { history, accuracy, alerts } = await backtest({
    ledger: connection,
    workspaceId: chosen.id,
    settings: { rules, lookbackPeriods: chosen.lookbackPeriods, settleHours: chosen.settleHours },
    window: { from: first, to: last },
    signal,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  return {
    workspace_id: history.workspaceId,
    filters: { from_period: from ?? null, to_period: to ?? null },
    history: { runs: history.runs, first_run_at: history.firstRunAt, last_run_at: history.lastRunAt },
    settings: {
      ratio: rules.ratio,
      min_credits: rules.minCredits,
      baseline: rules.baseline,
      tenant_patterns: rules.tenants.length,
    },
    accuracy: {
      likely: forecastRecord(accuracy.forecasts.likely),
      happened: forecastRecord(accuracy.forecasts.happened),
      notified_as_likely: accuracy.likely,
      came_true: accuracy.cameTrue,
      lead_days: accuracy.leadDays,
      messages_a_day: accuracy.messagesADay,
    },
    alerts: alerts.map(({ period, rule, tenantId, level, firstFiredAt, notifications, label }) => ({
      period,
      rule,
      tenant_id: tenantId,
      level,
      first_fired_at: firstFiredAt,
      notifications,
      label,
    })),
  };
}

function withOverrides(
  settings: AlertSettings,
  { ratio, min_credits: minCredits }: Pick<BacktestInput, 'ratio' | 'min_credits'>,
): AlertSettings {
  const overrides = {
    ...(ratio === undefined ? {} : { ratio }),
    ...(minCredits === undefined ? {} : { minCredits }),
  };
  const tenants = settings.tenants.map((tenant) => {
    return { ...tenant, rules: { ...tenant.rules, ...overrides, ...tenant.own } };
  });
  return { ...settings, ...overrides, tenants };
}

function forecastRecord({ notified, held, forecastToActual }: Accuracy['forecasts']['likely']) {
  return { forecasts: notified, held, forecast_to_actual: forecastToActual };
}
