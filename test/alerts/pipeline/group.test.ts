import { expect, test } from 'vitest';
import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { notifyChannels } from '../../../src/alerts/outbox/notify-channels.ts';
import { clear, holds, type Judgement } from '../../../src/alerts/rules/judgement.ts';
import { observation } from '../../../src/alerts/rules/observation.ts';
import { AlertBook } from '../../../src/alerts/state/alert-book.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { messages, pendingNotifications } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { LOG_ROUTES, notifying, setRoutes } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const JUMPS = holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 16_000n });
const LIKELY = holds({ level: 'likely', severity: 'warning', threshold: 15_000n, magnitude: 16_000n });
const GONE = clear(true);

/** A ledger of seven tenants, whose jumps a test says to hold or not, and a receiver that hears of ends at once. */
async function world() {
  const { connection } = openLedger();
  const records = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((tenant) => usageRecord(tenant, 16_000));
  await publish(connection, records, { nowMs: NOON - HOUR_MS });
  setRoutes(
    connection,
    LOG_ROUTES.map((route) => ({ ...route, followUps: 'at_once' })),
  );
  const look = (atMs: number, tenantKeys: readonly number[], judgement: Judgement, credits = 16_000n) => {
    const book = new AlertBook({
      ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' },
      ...{ seeding: false, at: isoTime(atMs), ...notifying(connection, atMs), priceOf: () => null },
    });
    for (const tenantKey of tenantKeys) {
      const figures = { previous: { credits: 10_000n, requests: 1n }, current: { credits, requests: 1n } };
      const subject = { rule: 'jump' as const, periodKey: periodKeyOf(1, '2026-03'), tenantKey };
      book.observe(observation({ ...subject, ...figures, threshold: 15_000n, judgement }));
    }
    notifyChannels(book);
  };
  /** What waits, each with whom it is about, and the hours until it goes. */
  const waiting = () =>
    pendingNotifications(connection).map(({ event, tenant, dueAt }) => {
      return `${event} ${tenant} at ${(Date.parse(dueAt ?? '') - NOON) / HOUR_MS}`;
    });
  const sent = () =>
    messages(connection).map(({ payload: { event, tenant_id, alerts } }) => `${event} ${tenant_id ?? alerts.length}`);
  return { look, waiting, sent, accept: (atMs: number) => simulateDelivery(connection, notifying(connection, atMs)) };
}

test('an end is sent on its own, even when pending group members are due', async () => {
  const { look, waiting, sent, accept } = await world();
  look(NOON, [1, 2, 3, 4, 5], JUMPS);
  accept(NOON);
  look(NOON + 6 * HOUR_MS, [6, 7], JUMPS);
  accept(NOON + 6 * HOUR_MS);
  expect(waiting()).toEqual(['opened f at 24', 'opened g at 24']);
  look(NOON + 24 * HOUR_MS, [1], GONE);

  expect(waiting()).toEqual(['closed a at 24', 'opened f at 24', 'opened g at 24']);
  accept(NOON + 24 * HOUR_MS);
  expect(sent().slice(-2)).toEqual(['closed a', 'opened 2']);
});

test('an end is sent at once and replaces a pending group message', async () => {
  const { look, waiting, accept } = await world();
  look(NOON, [1, 2, 3, 4, 5], LIKELY);
  accept(NOON);
  look(NOON + 6 * HOUR_MS, [1], JUMPS);
  expect(waiting()).toEqual(['worse a at 24']);
  look(NOON + 8 * HOUR_MS, [1], GONE);

  expect(waiting()).toEqual(['closed a at 8']);
});

test('a pending group member that reaches three times its limit is sent at once', async () => {
  const { look, waiting, accept } = await world();
  look(NOON, [1, 2, 3, 4, 5], JUMPS);
  accept(NOON);
  look(NOON + 6 * HOUR_MS, [6, 7], JUMPS);
  const far = holds({ level: 'happened', severity: 'critical', threshold: 15_000n, magnitude: 45_000n });
  look(NOON + 8 * HOUR_MS, [6], far, 45_000n);

  expect(waiting().sort()).toEqual(['opened f at 8', 'opened g at 24']);
});
