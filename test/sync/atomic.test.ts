import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startFixture } from '../support/sandbox-fixture.ts';

const STATE = `SELECT (SELECT sum(credits_used) FROM finance_period_totals) || ' credits, ' ||
  (SELECT sum(tenants) FROM finance_period_totals) || ' records, ' || (SELECT count(*) FROM usage_entries) || ' entries'`;

test('a reader that polls while 50,000 records are applied sees the state before or after, never between', async () => {
  const { sync, sandbox, view, clock } = await startFixture({
    thread: true,
    workspaces: [{ generate: { tenants: 25_000, months: 2 } }],
    settings: { concurrency: 8 },
  });
  await sync();
  const ledger = view();
  const before = ledger.value(STATE);
  clock.advance(24 * 3_600_000);
  sandbox.requests.clear();

  const states: unknown[] = [];
  let done = false;
  const run = sync().finally(() => {
    done = true;
  });
  while (!done) {
    // While pages still come there is nothing to see, and polling would only take their time.
    if (sandbox.requests.count >= 500) states.push(ledger.value(STATE));
    await turn();
  }
  const result = await run;
  const after = ledger.value(STATE);

  expect(result).toMatchObject({ records: 50_000, entries: 25_000 });
  expect(after).not.toBe(before);
  expect(states.filter((state) => state === before).length).toBeGreaterThan(5);
  expect([...new Set(states)].filter((state) => state !== before && state !== after)).toEqual([]);
});
