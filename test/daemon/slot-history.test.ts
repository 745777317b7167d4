import { expect, test } from 'vitest';
import { createSlotHistory } from '../../src/daemon/slot-history.ts';
import { dueAttempt } from '../../src/queue/slots.ts';
import { type Fixture, manualOrder, startFixture, WORKSPACE } from '../support/sandbox-fixture.ts';

const HOUR_MS = 60 * 60_000;
const RECONCILE = { workspaceId: WORKSPACE, kind: 'reconcile' } as const;

/** The slot of a reconciliation that is due now, when one begins each hour. */
function dueReconciliation(fixture: Fixture): string | null {
  const nowMs = fixture.clock.now();
  const slotMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const historyOf = createSlotHistory(fixture.context.reader().connection, fixture.clock);
  return dueAttempt({ slotMs, nextMs: slotMs + HOUR_MS }, historyOf(RECONCILE), nowMs)?.slot ?? null;
}

test('the first run reads the whole history, so no slot before it is owed a reconciliation, and the next one is', async () => {
  const fixture = await startFixture();
  await fixture.context.warm();
  fixture.clock.advance(5 * 60_000);
  expect(dueReconciliation(fixture)).toBeNull();

  await fixture.sync();

  fixture.clock.advance(60_000);
  expect(dueReconciliation(fixture)).toBeNull();
  fixture.clock.advance(HOUR_MS);
  const slot = dueReconciliation(fixture);
  expect(slot).toBe('2026-03-20T13:00:00.000Z');

  await fixture.context.sync(manualOrder({ kind: 'reconcile', slot: slot as string }));
  expect(dueReconciliation(fixture)).toBeNull();
});

test.each([
  ['from a period on', { from: '2026-02' }],
  ['up to a period', { to: '2026-02' }],
])('a first run that was asked for a part only, %s, leaves the reconciliation due', async (_, part) => {
  const fixture = await startFixture();
  await fixture.sync(part);
  expect(dueReconciliation(fixture)).toBe('2026-03-20T12:00:00.000Z');
});
