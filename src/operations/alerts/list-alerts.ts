import { z } from 'zod';
import type { Facts } from '../../alerts/messages/facts/facts.ts';
import { isOfMonthEnd } from '../../alerts/messages/sentence.ts';
import { createAlertMoments } from '../../alerts/queries/alert-moments.ts';
import { type AlertFilters, findListedAlerts, type ListedAlert } from '../../alerts/queries/alerts.ts';
import { FEEDBACK_LABELS } from '../../alerts/state/feedback.ts';
import { InputError } from '../../core/errors.ts';
import { ALERT_STATES, RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import { TENANT_FILTER, WORKSPACE_FILTER } from '../filters.ts';
import { listOperation, type Page, type RowKey } from '../operation.ts';
import { periodText } from '../schemas.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';
import { alertShape, stakeMoneySchema } from './alert-schemas.ts';

const input = z.strictObject({
  state: z.enum(ALERT_STATES).optional().describe('only alerts in this state'),
  all: z.boolean().optional().describe('alerts in any state'),
  pending: z.boolean().optional().describe('include pending alerts'),
  ...WORKSPACE_FILTER,
  ...TENANT_FILTER,
  period: periodText.optional().describe('only this month'),
  rule: z.enum(RULES).optional().describe('only this rule'),
  severity: z.enum(SEVERITIES).optional().describe('only this severity'),
});

export type AlertsInput = z.output<typeof input>;

const states = z.union([z.array(z.enum(ALERT_STATES)).readonly(), z.enum(['open', 'open or pending', 'all'])]);

const head = z.strictObject({
  filters: z.strictObject({
    states,
    workspace_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
    period: z.string().nullable(),
    rule: z.string().nullable(),
    severity: z.string().nullable(),
  }),
});

const row = z.strictObject({
  ...alertShape,
  tenant_name: z.string().nullable(),
  feedback: z.enum(FEEDBACK_LABELS).nullable().describe('the latest label that somebody gave'),
  at_stake_credits: z.bigint().nullable().describe('the difference in credits; null for system alerts'),
  at_stake_money: stakeMoneySchema.describe('what these credits cost; null without a price'),
  summary: z.string().describe('the title and lines of its message as one text'),
  at_stake_by_month_end: z.boolean().describe('true if the difference is a forecast for the end of the month'),
});

export type SummarizedAlert = ListedAlert & ReturnType<typeof currentSummary>;

export const listAlerts = listOperation({
  name: 'alerts.list',
  summary: 'List open alerts, or those in another state, by severity and size',
  details:
    'Shows what needs attention now, the most severe and largest first, each with a sentence that explains it. Without `all` or `state` it has the open ones only. Use alerts_explain for the cause of one.',
  role: 'read',
  input,
  http: { method: 'GET', path: '/alerts' },
  command: 'alerts list',
  title: 'alerts',
  member: 'alerts',
  head,
  row,
  columns: null,
  hasSlowRows: true,
  keyOf: ({ severity, at_stake_credits: credits, alert_id }) => [severity, credits, alert_id],
  run(scope, wanted, page) {
    const { workspace, tenant, period, rule, severity } = wanted;
    requireKnownWorkspace(scope, workspace);
    const listed = listedStates(wanted);
    const { connection, context } = scope;
    const matching = findListedAlerts(connection, {
      states: listed,
      nowMs: context.clock.now(),
      workspaceId: workspace,
      tenantId: tenant,
      period,
      rule,
      severity,
    });
    const momentsOf = createAlertMoments(connection);
    const rows = function* (): Generator<SummarizedAlert> {
      // Each alert is summarized only when the caller reads it, because summarizing many alerts takes seconds.
      for (const alert of alertsAfter(matching, page)) {
        yield { ...alert, ...currentSummary(momentsOf(alert).now.notification) };
      }
    };
    const filters = {
      states: listed,
      workspace_id: workspace ?? null,
      tenant_id: tenant ?? null,
      period: period ?? null,
      rule: rule ?? null,
      severity: severity ?? null,
    };
    return { head: { filters }, rows: rows(), matching };
  },
});

function listedStates({ all, state, pending }: AlertsInput): AlertFilters['states'] {
  const chosen = [all === true, state !== undefined, pending === true].filter(Boolean).length;
  if (chosen > 1) {
    throw new InputError(
      (nameOf) => `${nameOf('state')}, ${nameOf('all')} and ${nameOf('pending')} exclude each other`,
      'give one of them',
    );
  }
  if (all === true) return 'all';
  if (state !== undefined) return [state];
  return pending === true ? 'open or pending' : 'open';
}

/**
 * Returns the alerts after the one with the key `after`. If that alert is no longer listed, returns the alerts that
 * have a lower severity, or the same severity and fewer credits at stake.
 */
function alertsAfter(alerts: readonly ListedAlert[], { after }: Page): readonly ListedAlert[] {
  if (after === null) return alerts;
  const [severity, credits, id] = after;
  const index = alerts.findIndex(({ alert_id }) => alert_id === id);
  if (index >= 0) return alerts.slice(index + 1);
  const isBeyond = (alert: ListedAlert): boolean =>
    alert.severity === severity ? (alert.at_stake_credits ?? 0n) < sizeOf(credits) : alert.severity > String(severity);
  const next = alerts.findIndex(isBeyond);
  return next < 0 ? [] : alerts.slice(next);
}

function sizeOf(credits: RowKey[number] | undefined): bigint {
  return typeof credits === 'bigint' || Number.isSafeInteger(credits) ? BigInt(credits as bigint | number) : 0n;
}

function currentSummary(notification: Facts & { summary: string }) {
  return { summary: notification.summary, at_stake_by_month_end: isOfMonthEnd(notification) };
}
