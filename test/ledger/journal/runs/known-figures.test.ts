import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KnownFigures } from '../../../../src/ledger/journal/runs/merge-staged.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';

const LARGE = 2n ** 53n;

const figure = fc.oneof(fc.bigInt(0n, 3n), fc.constantFrom(LARGE - 1n, LARGE, LARGE + 1n, LARGE + 2n, 2n ** 57n + 1n));

/** As staging gives it: a bigint where a double does not hold it exactly. */
const plain = (value: bigint): number | bigint => (value < LARGE ? Number(value) : value);

test('what is said to be held is held, exactly, and small figures that are held are always found', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.record({ tenant: fc.integer({ min: 1, max: 60 }), held: figure, asked: figure, same: fc.boolean() }),
        {
          minLength: 1,
          maxLength: 40,
          selector: ({ tenant }) => tenant,
        },
      ),
      fc.integer({ min: 0, max: 61 }),
      async (cases, missing) => {
        const { connection } = openLedger();
        const held = cases.filter(({ tenant }) => tenant !== missing);
        await publish(
          connection,
          held.map((one) => usageRecord(`t${one.tenant}`, one.held)),
        );
        const keyOf = connection.prepare('SELECT tenant_key FROM tenants WHERE tenant_id = ?').pluck();
        const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().get() as number | undefined;
        const known = new KnownFigures(connection, periodKey ?? 1);
        const asked = held
          .map((one) => ({
            key: keyOf.get(`t${one.tenant}`) as number,
            ...one,
            asked: one.same ? one.held : one.asked,
          }))
          .sort((a, b) => a.key - b.key);
        for (const one of asked) {
          const says = known.holds(one.key, plain(one.asked), 10);
          if (one.held !== one.asked) expect(says).toBe(false);
          else if (one.held < LARGE) expect(says).toBe(true);
        }
        expect(known.holds(1000, 0, 10)).toBe(false);
        connection.close();
      },
    ),
    { numRuns: 40 },
  );
});

test('thousands of keys are read along, with keys between them that the ledger does not hold', async () => {
  const { connection } = openLedger();
  await publish(
    connection,
    Array.from({ length: 9_000 }, (_, index) => usageRecord(`t${index}`, index)),
  );
  const periodKey = connection.prepare('SELECT period_key FROM periods').pluck().get() as number;
  connection.exec('UPDATE tenant_usage SET withdrawn = 1 WHERE tenant_key % 100 = 7');
  const known = new KnownFigures(connection, periodKey);
  const wrong: number[] = [];
  for (let key = 1; key <= 9_002; key += 1) {
    const isHeld = key <= 9_000 && key % 100 !== 7;
    if (known.holds(key, key - 1, 10) !== isHeld) wrong.push(key);
  }
  expect(wrong).toEqual([]);
  expect(new KnownFigures(connection, periodKey).holds(5, 4, 11)).toBe(false);
});
