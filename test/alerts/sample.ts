import type { NotificationInput } from '../../src/alerts/notification.ts';

/** The facts of a jump that has just become certain, with some of them changed. */
export function jumpFacts(changes: Partial<NotificationInput> = {}): NotificationInput {
  return {
    notificationId: 'msg_0001',
    type: 'alert.firing',
    alertId: 'alert-1',
    ruleVersion: 1,
    stage: 'certain',
    severity: 'critical',
    state: 'firing',
    workspaceId: 'ws-123',
    tenantId: 'acme',
    period: '2026-02',
    previousPeriod: '2026-01',
    previous: { credits: 100_000n, requests: 1000n },
    current: { credits: 180_000n, requests: 1800n },
    threshold: 150_000n,
    runId: 'run-7',
    createdAt: '2026-02-20T12:00:00.000Z',
    ...changes,
  };
}
