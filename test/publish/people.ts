import type Database from 'better-sqlite3';
import { routesOf } from '../../src/alerts/notify/routes.ts';
import type { RateCardText } from '../../src/billing/rates/rate-card-schema.ts';
import { AppError } from '../../src/core/errors.ts';
import { carryOut } from '../../src/writer/commands/command-table.ts';
import type { Desk } from '../../src/writer/commands/desk.ts';
import { plainDesk } from '../../src/writer/open-desk.ts';
import { TENANTS } from '../ledger/model/upstream.ts';

const DAY_MS = 86_400_000;
const channels = routesOf([{ type: 'log', name: 'log' }]);

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
export function interfere(connection: Database.Database, what: number, nowMs: number): void {
  const desk = plainDesk(connection);
  const pick = <T>(values: readonly T[]): T | undefined => values[what % Math.max(1, values.length)];
  const column = (sql: string): string[] => connection.prepare(sql).pluck().all() as string[];
  const workspaceId = pick(['ws-1', 'ws-2']) ?? 'ws-1';
  const doings: (() => unknown)[] = [
    () => carryOut(desk, 'setCards', { cards: pick(CARD_SETS) ?? [], source: 'import', nowMs }),
    () =>
      carryOut(desk, 'importNames', {
        ...{ workspaceId, dryRun: false, nowMs },
        names: TENANTS.slice(0, 1 + (what % 5)).map((tenantId) => ({
          ...{ tenantId, displayName: `${tenantId}\t${what}\n\\N`, externalRef: what % 2 === 0 ? null : `ref-${what}` },
          labels: { tier: String(what) },
        })),
      }),
    () =>
      carryOut(desk, 'addSilence', {
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
    () => {
      const silenceId = pick(column('SELECT silence_id FROM silences WHERE ended_at IS NULL'));
      if (silenceId !== undefined) carryOut(desk, 'endSilence', { silenceId, by: 'Bo', nowMs });
    },
    () => {
      const alertId = pick(column("SELECT alert_id FROM alerts WHERE state = 'firing'"));
      if (alertId !== undefined) carryOut(desk, 'acknowledgeAlert', { alertId, by: 'Cy', note: null, nowMs });
    },
    () => {
      const alertId = pick(column('SELECT alert_id FROM alerts'));
      if (alertId !== undefined)
        carryOut(desk, 'recordFeedback', { alertId, label: 'real', note: 'yes', by: 'Di', nowMs });
    },
    () =>
      carryOut(desk, 'raiseStale', {
        workspaces: [{ workspaceId: `ws-${what % 4}`, sinceMs: DAY_MS, staleAfterMs: 1 }],
        channels,
        nowMs,
      }),
    () => {
      for (const notificationId of column("SELECT notification_id FROM outbox WHERE state = 'pending' LIMIT 3")) {
        if (!carryOut(desk, 'claimDelivery', { notificationId, nowMs: nowMs + 1, claimMs: 1000 })) continue;
        const state = pick(['delivered', 'pending', 'dead'] as const) ?? 'delivered';
        const error = state === 'delivered' ? null : 'no answer';
        carryOut(desk, 'recordDelivery', { notificationId, state, nextAttemptAtMs: nowMs, error, nowMs: nowMs + 2 });
      }
    },
    () => fail(desk, workspaceId, nowMs),
    () => carryOut(desk, 'prune', { beforeMs: nowMs - DAY_MS }),
  ];
  try {
    doings[what % doings.length]?.();
  } catch (error) {
    // Such as a lease that a sleeping run holds.
    if (!(error instanceof AppError)) throw error;
  }
}

function fail(desk: Desk, workspaceId: string, nowMs: number): void {
  const window = { from: null, to: null };
  const run = carryOut(desk, 'claimRun', {
    workspaceId,
    workspaceName: workspaceId,
    kind: 'manual',
    slot: null,
    window,
    nowMs,
  });
  if (!('runKey' in run)) return;
  carryOut(desk, 'failRun', {
    runKey: run.runKey,
    failure: { status: 'failed', code: 'unauthorized', message: 'the service\tsays no', pages: 1, records: 0 },
    fault: { code: 'unauthorized', retryable: false, clockSkewMs: null, message: 'no' },
    ...{ channels, nowMs },
  });
}
