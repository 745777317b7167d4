import { expect, test } from 'vitest';
import { createKnownFigures } from '../../src/ledger/journal/runs/read-known.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

test('thousands of keys are read in step, with keys between them that the ledger does not have', async () => {
  const { connection } = openLedger();
  await publish(
    connection,
    Array.from({ length: 9_000 }, (_, index) => usageRecord(`t${index}`, index)),
  );
  const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().get() as number;
  connection.exec('UPDATE tenant_usage SET withdrawn = 1 WHERE tenant_key % 100 = 7');
  const known = createKnownFigures(connection, periodKey);
  const wrong: number[] = [];
  for (let key = 1; key <= 9_002; key += 1) {
    const isHeld = key <= 9_000 && key % 100 !== 7;
    if (known.holds(key, key - 1, 10) !== isHeld) wrong.push(key);
  }
  expect(wrong).toEqual([]);
  expect(known.coversAllKeys()).toBe(true);
  expect(createKnownFigures(connection, periodKey).holds(5, 4, 11)).toBe(false);
});

test.each([1, 2, 4096, 4097, 4999])('key %i of five thousand that nobody asks for is noticed', async (left) => {
  const { connection } = openLedger();
  await publish(
    connection,
    Array.from({ length: 4_999 }, (_, index) => usageRecord(`t${index}`, index)),
  );
  const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().get() as number;
  const asking = (isAsked: (key: number) => boolean): boolean => {
    const known = createKnownFigures(connection, periodKey);
    for (let key = 1; key <= 4_999; key += 1) if (isAsked(key)) known.holds(key, 0, 10);
    return known.coversAllKeys();
  };
  expect(asking(() => true)).toBe(true);
  expect(asking((key) => key !== left)).toBe(false);
  expect(asking((key) => key < left)).toBe(false);
});

test('more requests for the same credits are an increase, fewer are a decrease', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('t1', 5)]);
  const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().get() as number;
  const known = createKnownFigures(connection, periodKey);
  expect(known.holds(1, 5, 11)).toBe(false);
  expect(known.changeTo(5, 11)).toEqual({ kind: 2, credits: 0, requests: 1 });
  expect(known.changeTo(5, 9)).toEqual({ kind: 3, credits: 0, requests: -1 });
  expect(known.changeTo(4, 11)).toEqual({ kind: 3, credits: -1, requests: 1 });
});
