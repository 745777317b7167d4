import { expect, test } from 'vitest';
import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { attributeErrors, evaluateRules } from '../../../src/alerts/rules/context/rule-fault.ts';
import { messages, notifications } from '../../support/messages.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { listingOf } from '../../support/run/listing.ts';
import { notifying, realRun, writerOn } from '../../support/run/real-run.ts';

const DAY_MS = 86_400_000;

type Records = Record<string, Record<string, bigint>>;

/** A ledger and what runs it a day later, with what the service says by then. */
function world(fromMs = Date.UTC(2026, 2, 10)) {
  const { connection } = openLedger();
  const writer = writerOn(connection);
  let nowMs = fromMs;
  const run = async (tenants: Records) => {
    nowMs += DAY_MS;
    const listed = Object.entries(tenants).flatMap(([tenantId, months]) =>
      Object.entries(months).map(([period, credits]) => ({ tenantId, period, credits, requests: 1 })),
    );
    const outcome = await realRun({
      ...{ writer, source: listingOf('ws-1', listed), now: () => nowMs, workspace: { id: 'ws-1' } },
    });
    simulateDelivery(connection, notifying(connection, nowMs));
    return outcome;
  };
  const rows = (sql: string) => connection.prepare(sql).pluck().all();
  const told = () => notifications(connection).map(({ payload }) => `${payload.rule} ${payload.type}`);
  return { connection, run, rows, told };
}

const ALERTS =
  "SELECT rule || ' ' || coalesce(tenant_id, '*') || ' ' || state FROM finance_alerts ORDER BY rule, tenant_id";
const DETAIL = "SELECT detail FROM alerts WHERE rule = 'job_failed'";
/** `tenant_key` 2 is the second tenant that the ledger has seen. */
const FAULTY = `CREATE TEMP TRIGGER faulty BEFORE INSERT ON alerts WHEN new.rule = 'jump' AND new.tenant_key = 2
  BEGIN SELECT raise(ABORT, 'no such figure'); END`;
const BEFORE = { '2026-01': 10_000n, '2026-02': 10_000n };

test('a rule that throws changes nothing until it recovers; other rules notify, and the run is published', async () => {
  const { connection, run, rows, told } = world();
  await run({ acme: BEFORE, other: BEFORE });
  connection.exec(FAULTY);
  const records = {
    acme: { ...BEFORE, '2026-03': 20_000n },
    other: { ...BEFORE, '2026-03': 30_000n },
    fresh: { '2026-03': 9_000n },
  };
  expect(await run(records)).toMatchObject({ status: 'applied', entries: 3 });
  expect(rows(ALERTS)).toEqual(['job_failed * firing', 'new_spend fresh firing']);
  expect(rows(DETAIL)).toEqual(['jump: no such figure']);

  const more = { ...records, other: { ...BEFORE, '2026-03': 30_001n } };
  await run(more);
  connection.exec('DROP TRIGGER temp.faulty');
  await run({ ...more, acme: { ...BEFORE, '2026-03': 20_001n }, other: { ...BEFORE, '2026-03': 30_002n } });
  expect(rows(ALERTS)).toEqual([
    'job_failed * resolved',
    'jump acme firing',
    'jump other firing',
    'new_spend fresh firing',
  ]);
  expect(told()).toEqual([
    ...['new_spend alert.firing', 'job_failed alert.firing', 'job_failed alert.resolved'],
    ...['jump alert.firing', 'jump alert.firing'],
  ]);
});

test('a month that settles while a rule throws is judged again when the rule recovers', async () => {
  const { connection, run, rows } = world(Date.UTC(2026, 3, 1));
  const records = { acme: BEFORE, other: BEFORE };
  await run(records);
  connection.exec(FAULTY);
  const risen = { ...records, other: { ...BEFORE, '2026-03': 30_000n } };
  await run(risen);
  await run(risen);
  connection.exec('DROP TRIGGER temp.faulty');
  await run(risen);
  expect(rows(ALERTS)).toContain('jump other firing');
});

test('a forecast beyond the largest integer is sent with the largest integer', async () => {
  const { connection, run, rows, told } = world(Date.UTC(2026, 0, 20));
  const aDay = 2n * 10n ** 17n;
  for (let dayMs = Date.UTC(2026, 0, 21); dayMs <= Date.UTC(2026, 2, 14); dayMs += DAY_MS) {
    const months: Record<string, bigint> = {};
    for (const [period, startMs, endMs, rate] of [
      ['2026-01', Date.UTC(2026, 0, 10), Date.UTC(2026, 1, 1), aDay],
      ['2026-02', Date.UTC(2026, 1, 1), Date.UTC(2026, 2, 1), aDay],
      ['2026-03', Date.UTC(2026, 2, 1), Date.UTC(2026, 3, 1), (aDay * 18n) / 10n],
    ] as const) {
      if (dayMs > startMs) months[period] = BigInt((Math.min(dayMs, endMs) - startMs) / DAY_MS) * rate;
    }
    await run({ huge: months });
  }
  expect(rows(ALERTS)).toEqual(['jump huge firing']);
  expect(told()).toEqual(['jump alert.firing']);
  const [message] = messages(connection);
  expect(message?.text).toMatch(new RegExp(`"projection":{[^}]*"credits":${2n ** 63n - 1n}\\b`));
});

test('a disk error in a rule is passed on, so that it is reported with its remedy', () => {
  const { connection } = openLedger();
  const fault = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' });
  const failing = attributeErrors.bind(null, 'jump', () => {
    throw fault;
  });
  const evaluate = () => evaluateRules(connection, { withoutFaulty: failing, withoutAny: () => null });
  let thrown: unknown = null;
  try {
    connection.transaction(evaluate)();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBe(fault);
});
