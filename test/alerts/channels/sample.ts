import type { NotificationInput } from '../../../src/alerts/notify/notification.ts';
import type { Evidence } from '../../../src/alerts/wording/evidence.ts';

/** Evidence that says nothing. */
export const NO_EVIDENCE: Evidence = {
  threshold: null,
  projection: null,
  share_of_increase_percent: null,
  share_of_workspace_percent: null,
  at_stake_credits: null,
  at_stake_money: null,
  course: null,
  split: null,
  entries: [],
  entry_count: 0,
  planned_credits: null,
  planned_bounds: [],
  tenants: null,
  tenant_count: null,
  former_tenant: null,
  detail: null,
};

/** The facts of a jump that has just become certain, with some of them changed. */
export function jumpFacts(changes: Partial<NotificationInput> = {}): NotificationInput {
  return {
    notificationId: 'msg_0001',
    type: 'alert.firing',
    event: 'opened',
    revision: 1,
    episode: 1,
    closedBecause: null,
    beganAt: '2026-02-20T12:00:00.000Z',
    alertId: 'alert_1',
    rule: 'jump',
    cause: null,
    toldTimes: 0,
    ruleVersion: 1,
    level: 'happened',
    severity: 'critical',
    state: 'firing',
    workspaceId: 'ws-123',
    tenantId: 'acme',
    tenantName: null,
    period: '2026-02',
    previousPeriod: '2026-01',
    previous: { credits: 100_000n, requests: 1000n },
    current: { credits: 180_000n, requests: 1800n },
    threshold: 150_000n,
    evidence: NO_EVIDENCE,
    runId: 'run-7',
    createdAt: '2026-02-20T12:00:00.000Z',
    publicUrl: null,
    ...changes,
  };
}
