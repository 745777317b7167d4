import type { Notification } from '../../../src/alerts/messages/facts/facts.ts';
import { buildNotification, type NotificationInput } from '../../../src/alerts/messages/notification.ts';
import { systemKind } from '../../../src/alerts/rules/rules.ts';
import { NOTIFICATION_EVENTS, RULES, type RuleName } from '../../../src/core/text/alert-words.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';

const MARCH = {
  ...{ period: '2026-03' as const, previous_period: '2026-02' as const, threshold: 15_000n },
  previous: { credits: 10_000n, requests: 100n },
  current: { credits: 16_000n, requests: 130n },
  ...{ read_at: '2026-03-20T12:00:00.000Z', created_at: '2026-03-20T12:00:00.000Z' },
};

/** Evidence with everything that a message can mention. */
const RICH = {
  ...NO_EVIDENCE,
  threshold: {
    ...{ credits: 15_000n, baseline_credits: 10_000n, baseline_period: '2026-02', ratio: 1.5, min_credits: 1_000 },
  },
  projection: { credits: 24_000n, low_credits: 20_120n, high_credits: 31_870n, elapsed_fraction: 0.63 },
  at_stake_credits: 14_000n,
  at_stake_money: { amount: '1234.50', amount_minor: 123_450n, currency: 'EUR' },
  daily_usage: {
    ...{ since: '2026-03-14', usual_daily_credits: 350n, recent_daily_credits: 1_500n, previous_same_point: 7_000n },
    days: { previous: [], current: Array.from({ length: 20 }, (_, day) => (day < 16 ? BigInt(day) * 400n : 15_500n)) },
  },
  planned_bounds: [12_000n],
};

export function systemFacts(rule: RuleName, cause: string | null, detail: string | null): NotificationInput {
  const isOfLedger = systemKind(rule)?.scope === 'ledger' && cause !== 'alerting';
  return jumpFacts({
    ...{ rule, cause, workspace_id: isOfLedger ? null : 'ws-1', period: null, tenant_id: null },
    ...{ previous: null, current: null, threshold: null, evidence: { ...NO_EVIDENCE, detail } },
  });
}

/** Facts of each rule, with whatever else their words depend on. */
function everyFinding(changes: Partial<NotificationInput>): NotificationInput[] {
  return RULES.flatMap((rule) => {
    const own = systemKind(rule);
    if (own !== null) {
      const causes = Object.keys(own.causes).map((cause) => (cause === 'channel' ? 'channel:on-call' : cause || null));
      return causes.map((cause) => ({ ...systemFacts(rule, cause, 'HTTP 500'), ...changes, tenant_id: null }));
    }
    return (['likely', 'happened', 'settled'] as const).flatMap((level) =>
      [NO_EVIDENCE, level === 'settled' ? { ...RICH, projection: null } : RICH].map((evidence) =>
        jumpFacts({ ...MARCH, rule, level, evidence, ...changes }),
      ),
    );
  });
}

/** Builds the message of each rule, event and level. */
export function everyMessage(changes: Partial<NotificationInput> = {}): Notification[] {
  return everyFinding(changes).flatMap((facts) =>
    NOTIFICATION_EVENTS.flatMap((event) => {
      // Only system alerts are reported as flapping.
      if (event === 'flapping' && systemKind(facts.rule) === null) return [];
      if (event !== 'closed') return [buildNotification({ ...facts, event })];
      const ended = { type: 'alert.resolved' as const, state: 'resolved' as const };
      return (['gone', 'left_window', 'workspace_ended', 'unrouted'] as const).map((closed_because) =>
        buildNotification({ ...facts, event, closed_because, ...ended }),
      );
    }),
  );
}
