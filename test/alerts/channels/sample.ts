import type { Evidence } from '../../../src/alerts/messages/facts/facts.ts';
import type { NotificationInput } from '../../../src/alerts/messages/notification.ts';

/** Evidence that says nothing. */
export const NO_EVIDENCE: Evidence = {
  threshold: null,
  projection: null,
  share_of_increase_percent: null,
  share_of_workspace_percent: null,
  at_stake_credits: null,
  at_stake_money: null,
  daily_usage: null,
  split: null,
  entries: [],
  entry_count: 0,
  planned_bounds: [],
  predecessor: null,
  tenants: null,
  detail: null,
};

/** The facts of a jump that has just become certain, with some of them changed. */
export function jumpFacts(changes: Partial<NotificationInput> = {}): NotificationInput {
  return {
    notification_id: 'msg_0001',
    type: 'alert.firing',
    event: 'opened',
    revision: 1,
    episode: 1,
    closed_because: null,
    began_at: '2026-02-20T12:00:00.000Z',
    read_at: '2026-02-20T12:00:00.000Z',
    time_zone: 'UTC',
    alert_id: 'alert_1',
    rule: 'jump',
    cause: null,
    notified_count: 0,
    rule_version: 1,
    level: 'happened',
    severity: 'critical',
    state: 'firing',
    workspace_id: 'ws-123',
    tenant_id: 'acme',
    tenant_name: null,
    period: '2026-02',
    previous_period: '2026-01',
    previous: { credits: 100_000n, requests: 1000n },
    current: { credits: 180_000n, requests: 1800n },
    threshold: 150_000n,
    evidence: NO_EVIDENCE,
    run_id: 'run-7',
    created_at: '2026-02-20T12:00:00.000Z',
    public_url: null,
    acknowledge_link: null,
    ...changes,
  };
}
