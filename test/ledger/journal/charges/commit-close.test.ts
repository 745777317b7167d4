import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../../../src/ledger/journal/charges/names.ts';
import { setCards } from '../../../../src/ledger/journal/charges/set-cards.ts';
import { closePeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD = { name: 'all', from_period: '2026-01', currency: 'EUR', included_credits: 100, discount_percent: '10' };
const CARDS = [
  {
    ...CARD,
    graduated: [{ up_to: 500, price_per_credit: '0.5' }, { price_per_credit: '0.0125' }],
    minimum: '20',
  },
  { ...CARD, name: 'yen', tenant: 'y*', currency: 'JPY', price_per_credit: '1' },
];
/** Byte order is neither that of UTF-16 nor that of any language. */
const TENANTS = [
  'a',
  'B',
  'é',
  'yen',
  'z',
  '\u{ffee}',
  '\u{1f600}',
  ...Array.from({ length: 40 }, (_, at) => `t${at}`),
];

type Row = Record<string, string | bigint | null>;

function rows(connection: LedgerConnection, sql: string): Row[] {
  return connection.prepare(sql).safeIntegers().all('2026-02') as Row[];
}

function text(value: string | bigint | null | undefined): string | null {
  return value == null ? null : String(value);
}

/** The leaves of the document's format, read from the views alone. */
function leavesOf(connection: LedgerConnection): string[] {
  const [run] = rows(
    connection,
    "SELECT * FROM finance_runs WHERE status = 'applied' AND ? > '' ORDER BY started_at DESC",
  );
  const usage = rows(connection, 'SELECT * FROM finance_usage WHERE period = ? AND withdrawn = 0');
  const lines = rows(connection, 'SELECT * FROM finance_charge_lines WHERE period = ? ORDER BY line_number, entry_id');
  const names = rows(connection, "SELECT * FROM finance_tenants WHERE ? > ''");
  const ids = [...new Set([...usage, ...lines].map(({ tenant_id }) => String(tenant_id)))].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
  const certificate = [run?.run_id, run?.finished_at, String(run?.records), run?.digest];
  const header = ['usage-ledger/period/1', 'ws-1', '2026-02', certificate];
  const tenants = ids.map((id) => {
    const own = (row: Row) => row.tenant_id === id;
    const used = usage.find(own);
    const name = names.find(own);
    const billed = lines.filter(own);
    const ordered = [
      ...billed.filter((line) => line.line_number !== null),
      ...billed.filter((line) => line.line_number === null),
    ];
    return [
      'usage-ledger/tenant/1',
      id,
      name?.display_name ?? null,
      name?.external_ref ?? null,
      text(used?.credits_used ?? 0n),
      text(used?.request_count ?? 0n),
      ordered.map((line) => [
        ...[line.kind, text(line.tier), text(line.credits), text(line.unit_credits), line.unit_price],
        ...[text(line.amount_minor), line.currency, line.rate_card, line.corrects_period, text(line.entry_id)],
      ]),
    ];
  });
  return [header, ...tenants].map((leaf) => JSON.stringify(leaf));
}

/** RFC 9162, 2.1.1. */
function definedRoot(leaves: readonly string[]): Buffer {
  const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
  const [only = ''] = leaves;
  if (leaves.length === 1) return sha256(Buffer.of(0), Buffer.from(only));
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), definedRoot(leaves.slice(0, split)), definedRoot(leaves.slice(split)));
}

test('a close commits to the tree over what the views say: names, lines of all tiers and currencies, corrections', async () => {
  const { connection } = openLedger();
  const close = (period: string, nowMs: number) =>
    closePeriod(
      connection,
      { workspaceId: 'ws-1', period, by: 'Ada', note: '', force: true, settleHours: 48, nowMs },
      commitClose,
    );
  setCards(connection, { cards: CARDS, source: 'import', nowMs: NOON });
  const january = TENANTS.map((id, at) => usageRecord(id, 90 * at, '2026-01'));
  await publish(connection, january);
  const names = [{ tenantId: 'é', displayName: 'Éa "q" \u2028', externalRef: null, labels: {} }];
  importNames(connection, { workspaceId: 'ws-1', names, dryRun: false, nowMs: NOON });
  close('2026-01', NOON);
  // Of one tenant February has but a correction, of another there is no card that would price it.
  const corrected = january.map((record, at) => (at % 3 === 0 ? { ...record, credits: 90 * at + 1000 } : record));
  const february = TENANTS.slice(1).map((id, at) => usageRecord(id, 37 * at, '2026-02'));
  await publish(connection, [...corrected, usageRecord('only corrected', 700, '2026-01'), ...february], {
    nowMs: NOON + 1000,
  });
  close('2026-02', NOON + 2000);

  const leaves = leavesOf(connection);
  expect(leaves.filter((leaf) => leaf.includes('"correction"')).length).toBeGreaterThan(10);
  const committed = connection.prepare('SELECT leaves, root FROM close_commitments ORDER BY event_seq DESC').get();
  expect(committed).toEqual({ leaves: leaves.length, root: definedRoot(leaves).toString('hex') });
});

test.each([
  { what: 'the next link', seq: 2 },
  { what: 'a run', seq: 1 },
])('a commitment of $what is a fault, and a close that meets it says so', async ({ seq }) => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 5, '2026-02')]);
  connection.prepare('INSERT INTO close_commitments VALUES (?, 1, ?)').run(seq, '00');
  const close = () =>
    closePeriod(
      connection,
      { workspaceId: 'ws-1', period: '2026-02', by: 'Ada', note: '', force: true, settleHours: 48, nowMs: NOON },
      commitClose,
    );

  expect(verifyLedger(connection).faults).toEqual([
    expect.objectContaining({
      check: 'closes',
      message: `commitment of link ${seq} of the chain: that link is not a close`,
    }),
  ]);
  if (seq === 2) expect(close).toThrow(expect.objectContaining({ code: 'close_refused' }));
  else expect(close().eventSeq).toBe(2);
});
