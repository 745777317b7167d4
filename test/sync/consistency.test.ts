import { expect, test } from 'vitest';
import { startFixture } from '../support/sandbox-fixture.ts';

test.each([
  { consistency: 'twice', perPage: 100, walks: 2, why: 'two walks must agree' },
  { consistency: 'counted', perPage: 100, walks: 1, why: 'the count of one walk is enough' },
  { consistency: 'auto', perPage: 4, walks: 2, why: 'up to 50 pages two walks must agree' },
  { consistency: 'auto', perPage: 3, walks: 1, why: 'beyond 50 pages one is enough' },
] as const)('with $consistency a listing of 200 records by $perPage takes $walks: $why', async (row) => {
  const { consistency, perPage, walks } = row;
  const { sync, sandbox, view } = await startFixture({
    workspaces: [{ generate: { tenants: 100, months: 2 } }],
    settings: { consistency, perPage },
  });

  expect(await sync()).toMatchObject({ walks, records: 200, pages: Math.ceil(200 / perPage) });

  expect(sandbox.requests.count).toBe(walks * Math.ceil(200 / perPage));
  const stored = view().rows('SELECT walk_number, verdict, records, total_records, key_set_digest FROM walks');
  expect(stored.at(-1)).toMatchObject({ verdict: 'accepted', records: 200n, total_records: 200n });
  expect(new Set(stored.map(({ key_set_digest }) => key_set_digest)).size).toBe(1);
  expect(stored).toHaveLength(walks);
});

test('values that grow between two walks are no movement: the latest reading is published', async () => {
  const { sync, sandbox, upstream, view } = await startFixture({ settings: { consistency: 'twice' } });
  upstream.set({ tenantId: 'busy', period: '2026-03', credits: 10, requests: 1 });
  let readings = 0;
  sandbox.faults.push({
    times: 2,
    action: {
      type: 'before',
      run: () => {
        readings += 1;
        upstream.set({ tenantId: 'busy', period: '2026-03', credits: 10 * readings, requests: 1 });
      },
    },
  });

  expect((await sync()).walks).toBe(2);
  expect(view().value('SELECT credits_used FROM finance_usage')).toBe(20n);
});
