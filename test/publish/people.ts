import type { RateCardText } from '../../src/billing/rates/rate-card-schema.ts';
import { AppError } from '../../src/core/errors.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import type { UsageSource } from '../../src/sync/sync-deps.ts';
import { UnauthorizedError } from '../../src/usage-api/errors.ts';
import { TENANTS } from '../ledger/model/upstream.ts';
import { pendingMessages } from '../support/messages.ts';
import { realRun, writerOn } from '../support/run/real-run.ts';

const DAY_MS = 86_400_000;

/** A service that knows nobody. */
const REFUSING: UsageSource = {
  fetchUsagePage: async () => {
    throw new UnauthorizedError('the service\tsays no', {
      endpoint: 'workspace usage',
      status: 401,
      clockSkewMs: null,
    });
  },
  getTenantUsage: async () => {
    throw new Error('no history was to be asked for');
  },
};

const CARD_SETS: readonly (readonly RateCardText[])[] = [
  [{ name: 'flat', from_period: '2025-11', currency: 'EUR', price_per_credit: '0.009' }],
  [
    {
      name: 'hooli',
      from_period: '2025-11',
      tenant: 'hooli',
      currency: 'USD',
      package: { credits: 100, price: '1.50' },
    },
    {
      ...{ name: 'steps', from_period: '2025-12', currency: 'EUR', minimum: '20.00', discount_percent: '2.5' },
      graduated: [{ up_to: 1000, price_per_credit: '0.01' }, { price_per_credit: '0.004' }],
    },
  ],
  [],
];

/** What people, timers and senders do to a ledger beside the runs; which of it, a number says. */
export async function interfere(connection: LedgerDb, what: number, nowMs: number): Promise<void> {
  const writer = writerOn(connection);
  const pick = <T>(values: readonly T[]): T | undefined => values[what % Math.max(1, values.length)];
  const column = (sql: string): string[] => connection.prepare(sql).pluck().all() as string[];
  const workspaceId = pick(['ws-1', 'ws-2']) ?? 'ws-1';
  const doings: (() => unknown)[] = [
    () => writer.setCards({ cards: pick(CARD_SETS) ?? [], source: 'import', nowMs }),
    () =>
      writer.importNames({
        ...{ workspaceId, dryRun: false, nowMs },
        names: TENANTS.slice(0, 1 + (what % 5)).map((tenantId) => ({
          ...{ tenantId, displayName: `${tenantId}\t${what}\n\\N`, externalRef: what % 2 === 0 ? null : `ref-${what}` },
          labels: { tier: String(what) },
        })),
      }),
    () =>
      writer.addLine({
        workspaceId,
        tenantId: `${pick(TENANTS)}`,
        period: pick(['2025-11', '2025-12', '2026-01']) ?? '',
        amountMinor: BigInt(what - 500),
        currency: pick(['EUR', 'JPY']) ?? '',
        reason: `because\t${what}`,
        by: 'Ada',
        nowMs,
      }),
    async () => {
      const lineId = pick(column('SELECT line_id FROM manual_lines WHERE revoked_at IS NULL').map(Number));
      if (lineId !== undefined) await writer.revokeLine({ lineId, by: 'Bo', reason: 'a slip', nowMs });
    },
    () =>
      writer.addSilence({
        ...{
          kind: 'silence',
          workspaceId: null,
          rule: '*',
          tenant: `${pick(TENANTS)}`,
          period: '*',
          upToCredits: null,
        },
        ...{ untilMs: nowMs + DAY_MS, reason: 'known', by: 'Ada', nowMs },
      }),
    async () => {
      const silenceId = pick(column('SELECT silence_id FROM silences WHERE ended_at IS NULL'));
      if (silenceId !== undefined) await writer.endSilence({ silenceId, by: 'Bo', nowMs });
    },
    async () => {
      const alertId = pick(column("SELECT alert_id FROM alerts WHERE state = 'firing'"));
      if (alertId !== undefined) await writer.acknowledgeAlert({ alertId, by: 'Cy', note: null, nowMs });
    },
    async () => {
      const alertId = pick(column('SELECT alert_id FROM alerts'));
      if (alertId !== undefined) await writer.recordFeedback({ alertId, label: 'real', note: 'yes', by: 'Di', nowMs });
    },
    () =>
      writer.raiseStale({
        workspaces: [{ workspaceId: `ws-${what % 4}`, sinceMs: DAY_MS, staleAfterMs: 1 }],
        nowMs,
      }),
    async () => {
      await writer.compose({ nowMs });
      for (const { id: notificationId } of pendingMessages(connection).slice(0, 3)) {
        if ((await writer.claimDelivery({ notificationId, nowMs: nowMs + 1 })) === null) continue;
        const event = pick(['accepted', 'refused', 'unknown', 'rejected'] as const) ?? 'accepted';
        const error = event === 'accepted' ? null : 'no answer';
        await writer.recordAttempt({ notificationId, event, delayMs: 0, error, nowMs: nowMs + 2, about: null });
      }
    },
    () => realRun({ writer, source: REFUSING, now: () => nowMs, workspace: { id: workspaceId, name: workspaceId } }),
    async () => {
      const closed = connection.prepare(
        `SELECT w.workspace_id, p.period, e.digest FROM periods p JOIN workspaces w USING (workspace_key)
         JOIN period_events e ON e.event_seq = p.closed_seq`,
      );
      const close = pick(closed.all() as { workspace_id: string; period: string; digest: string }[]);
      if (close === undefined) return;
      await writer.recordReconciliation({
        workspaceId: close.workspace_id,
        period: close.period,
        closeDigest: close.digest,
        file: { name: 'invoices\t1.csv', sha256: 'ab'.repeat(32) },
        counts: { matched: what % 7, missing: 1, extra: 0, different: 2 },
        tolerance: '0',
        amounts: [{ currency: 'EUR', ledger: '1.00', invoice: '2.00' }],
        numbers: TENANTS.map((tenantId) => ({ tenantId, currency: 'EUR', number: `R-${what}-${tenantId}` })),
        by: 'Eve',
        note: '\\N',
        nowMs,
      });
    },
    () => writer.prune({ beforeMs: nowMs - DAY_MS, nowMs }),
  ];
  try {
    await doings[what % doings.length]?.();
  } catch (error) {
    // Such as a lease that a sleeping run holds.
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
  }
}
