import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKnownFigures } from '../../src/ledger/journal/runs/read-known.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

const LARGE = 2n ** 53n;
const large = [LARGE - 1n, LARGE, LARGE + 1n, LARGE + 2n, 2n ** 57n + 1n];
const figure = fc.oneof(fc.bigInt(-1n, 3n), fc.constantFrom(...large, 1n - LARGE, -LARGE));

/** As staging gives it: a bigint where a double does not hold it exactly. */
const plain = (value: bigint): number | bigint => (isPlain(value) ? Number(value) : value);
const isPlain = (value: bigint): boolean => value < LARGE && value > -LARGE;

test('figures reported as equal are exactly equal, and equal small figures are always found', async () => {
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
        const known = createKnownFigures(connection, periodKey ?? 1);
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
          else if (isPlain(one.held)) expect(says).toBe(true);
          if (says) continue;
          const credits = one.asked - one.held;
          const isExact = [one.held, one.asked, credits].every(isPlain);
          const change = { kind: credits > 0n ? 2 : 3, credits: Number(credits), requests: 0 };
          expect(known.changeTo(plain(one.asked), 10)).toEqual(isExact ? change : null);
        }
        expect(known.coversAllKeys()).toBe(true);
        expect(known.holds(1000, 0, 10)).toBe(false);
        expect(known.changeTo(0, 10)).toBeNull();
        connection.close();
      },
    ),
    { numRuns: 40 },
  );
});
