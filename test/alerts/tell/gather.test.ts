import { expect, test } from 'vitest';
import { AlertBook } from '../../../src/alerts/book/alert-book.ts';
import { observation } from '../../../src/alerts/evaluate/observation.ts';
import { routesOf } from '../../../src/alerts/notify/routes.ts';
import { acceptAll } from '../../../src/alerts/outbox/told-by.ts';
import { clear, holds, type Judgement } from '../../../src/alerts/rules/rule.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const JUMPS = holds({ level: 'happened', severity: 'critical', threshold: 15_000n, measure: 16_000n });
const GONE = clear(true);

test('an end goes by itself, also when those that waited for a group are due', async () => {
  const { connection } = openLedger();
  const records = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((tenant) => usageRecord(tenant, 16_000));
  await publish(connection, records, { nowMs: NOON - HOUR_MS });
  const channels = routesOf([{ type: 'log', name: 'log' }]).map((route) => ({
    ...route,
    followUps: 'at_once' as const,
  }));
  const look = (atMs: number, tenantKeys: readonly number[], judgement: Judgement) => {
    const book = new AlertBook({
      ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' },
      ...{ seeding: false, at: isoTime(atMs), nowMs: atMs, channels, priceOf: () => null },
    });
    for (const tenantKey of tenantKeys) {
      const figures = { previous: { credits: 10_000n, requests: 1n }, current: { credits: 16_000n, requests: 1n } };
      const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, '2026-03'), tenantKey };
      book.observe(observation({ ...subject, ...figures, threshold: 15_000n, judgement }));
    }
    book.finish();
  };
  look(NOON, [1, 2, 3, 4, 5], JUMPS);
  acceptAll(connection, isoTime(NOON));
  look(NOON + 6 * HOUR_MS, [6, 7], JUMPS);
  acceptAll(connection, isoTime(NOON + 6 * HOUR_MS));
  look(NOON + 24 * HOUR_MS, [1], GONE);

  const waiting = connection.prepare("SELECT payload FROM outbox WHERE state = 'pending'").pluck().all() as string[];
  const said = waiting.map((payload) => JSON.parse(payload));
  expect(said.map(({ event, tenant_id, alerts }) => [event, tenant_id ?? alerts.length]).sort()).toEqual([
    ['closed', 'a'],
    ['opened', 2],
  ]);
});
