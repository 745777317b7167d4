import { createHash, createHmac } from 'node:crypto';
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import type { StatementDocument } from '../../../../src/billing/statement/document.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../../src/ledger/journal/charges/read-statement.ts';
import { type Commitment, closePeriod, type PeriodAtEvent } from '../../../../src/ledger/journal/close/close-period.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

// cspell:ignore ffee

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

function rows(connection: LedgerDb, sql: string): Row[] {
  return connection.prepare(sql).safeIntegers().all('2026-02') as Row[];
}

function text(value: string | bigint | null | undefined): string | null {
  return value == null ? null : String(value);
}

type Mac = (label: string) => Buffer;

/** The leaves of the document's format, read from the views alone. */
function leavesOf(connection: LedgerDb, mac: Mac): string[] {
  const tagged = (kind: string, label: string) => [`usage_ledger.${kind}.v1`, mac(label).toString('hex')];
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
  const header = [...tagged('period', 'period'), 'ws-1', '2026-02', certificate];
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
      ...tagged('tenant', `tenant:${id}`),
      id,
      name?.display_name ?? null,
      name?.external_ref ?? null,
      text(used?.credits_used ?? 0n),
      text(used?.request_count ?? 0n),
      ordered.map((line) => [
        ...[line.kind, text(line.tier), text(line.credits), text(line.unit_credits), line.unit_price],
        ...[text(line.amount_minor), line.currency, line.rate_card, line.corrects_period, text(line.entry_id)],
        line.reason,
        text(line.requests),
      ]),
    ];
  });
  return [header, ...tenants].map((leaf) => JSON.stringify(leaf));
}

function sha256(...parts: Buffer[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}

/** The tree of a close as the document describes it. */
function saltedRoot(leaves: readonly string[], mac: Mac): Buffer | undefined {
  const mask = mac('mask').readUInt32BE();
  let level = leaves.map((leaf) => sha256(Buffer.of(0), Buffer.from(leaf))).sort(Buffer.compare);
  for (let height = 0; height < 24; height += 1) {
    if (level.length % 2 === 1) level.push(mac(`pad:${height}`));
    const sides = (left: Buffer, right: Buffer) =>
      Math.floor(mask / 2 ** height) % 2 === 1 ? [right, left] : [left, right];
    level = level.flatMap((left, at) =>
      at % 2 === 0 ? [sha256(Buffer.of(1), ...sides(left, level[at + 1] as Buffer))] : [],
    );
  }
  return level[0];
}

const CLOSE = { workspaceId: 'ws-1', by: 'Ada', note: 'run 12', force: true, settleHours: 48 };

/** Two closed months with names, lines of all tiers and currencies, and corrections. */
async function closedLedger(commit: (period: PeriodAtEvent) => Commitment): Promise<LedgerDb> {
  const { connection } = openLedger();
  setCards(connection, { cards: CARDS, source: 'import', nowMs: NOON });
  const january = TENANTS.map((id, at) => usageRecord(id, 90 * at, '2026-01'));
  await publish(connection, january);
  const names = [{ tenantId: 'é', displayName: 'Éa "q" \u2028', externalRef: null, labels: {} }];
  importNames(connection, { workspaceId: 'ws-1', names, dryRun: false, nowMs: NOON });
  closePeriod(connection, { ...CLOSE, period: '2026-01', nowMs: NOON }, commit);
  // Of one tenant February has but a correction, of another there is no card that would price it.
  const corrected = january.map((record, at) => (at % 3 === 0 ? { ...record, credits: 90 * at + 1000 } : record));
  const february = TENANTS.slice(1).map((id, at) => usageRecord(id, 37 * at, '2026-02'));
  await publish(connection, [...corrected, usageRecord('only corrected', 700, '2026-01'), ...february], {
    nowMs: NOON + 1000,
  });
  closePeriod(connection, { ...CLOSE, period: '2026-02', nowMs: NOON + 2000 }, commit);
  return connection;
}

const FEBRUARY = { workspaceId: 'ws-1', period: '2026-02', nowMs: NOON };

test('a close commits to the tree over the contents of the views: names, lines of all tiers and currencies, corrections', async () => {
  const connection = await closedLedger(commitClose);
  const committed = connection.prepare('SELECT leaves, root, salt FROM close_commitments ORDER BY event_seq').all();
  const [first, last] = committed as { leaves: number; root: string; salt: string }[];
  expect(first?.salt).not.toBe(last?.salt);
  expect(last?.salt).toMatch(/^[0-9a-f]{64}$/);
  const mac: Mac = (label) =>
    createHmac('sha256', Buffer.from(String(last?.salt), 'hex'))
      .update(label)
      .digest();

  const leaves = leavesOf(connection, mac);
  expect(leaves.filter((leaf) => leaf.includes('"correction"')).length).toBeGreaterThan(10);
  expect(last).toMatchObject({ leaves: leaves.length, root: saltedRoot(leaves, mac)?.toString('hex') });
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
});

test('the public line of a close reveals neither its tenants nor who closed, and contains the hash of its content', async () => {
  const connection = await closedLedger(commitClose);
  const [event] = rows(connection, 'SELECT * FROM finance_closes WHERE period = ?');
  const { proof } = readStatement(connection, FEBRUARY) as StatementDocument;
  if (proof?.internal == null) throw new Error('the statement has no proof');
  const { close, internal, root } = proof;

  const hash = sha256(Buffer.from(internal.nonce, 'hex'), Buffer.from(internal.line)).toString('hex');
  expect(sha256(Buffer.from(`${close}\n`)).toString('hex')).toBe(event?.digest);
  expect(JSON.parse(close)).toEqual([event?.previous_digest, 4, 'close', 'ws-1', '2026-02', event?.at, hash, root]);
  expect(JSON.parse(internal.line)).toEqual([
    ...['Ada', 'run 12', 1, event?.overridden, Number(event?.tenants), Number(event?.credits_used)],
    ...[Number(event?.request_count), expect.any(Number), userInfo().username, internal.leaves],
  ]);
  expect(event?.system_user).toBe(userInfo().username);
});

test('all proof paths of a close have one length, and their positions do not reveal the number of tenants', async () => {
  const { connection } = openLedger();
  const places: number[] = [];
  for (const [at, tenants] of [1, 2, 3, 9, 40].entries()) {
    const period = `2026-0${at + 1}`;
    await publish(
      connection,
      TENANTS.slice(0, tenants).map((id) => usageRecord(id, 5, period)),
    );
    closePeriod(connection, { ...CLOSE, period, nowMs: NOON }, commitClose);
    const statement = readStatement(connection, { ...FEBRUARY, period });
    for (const { proof } of statement?.tenants ?? []) {
      expect(proof?.path).toHaveLength(24);
      places.push(proof?.index ?? -1);
    }
  }
  // Each of the upper bits is 1 now and then, as if there were millions.
  expect(places.reduce((all, place) => all | place, 0)).toBeGreaterThan(2 ** 20);
});

test.each([
  { what: 'the next link', seq: 2 },
  { what: 'a run', seq: 1 },
])('a commitment of $what is a fault, and a close that finds it reports it', async ({ seq }) => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 5, '2026-02')]);
  connection
    .prepare('INSERT INTO close_commitments (event_seq, leaves, root, salt) VALUES (?, 1, ?, ?)')
    .run(seq, '00', '00'.repeat(32));
  const close = () => closePeriod(connection, { ...CLOSE, period: '2026-02', nowMs: NOON }, commitClose);

  expect(verifyLedger(connection).faults).toEqual([
    expect.objectContaining({
      check: 'closes',
      message: `commitment of link ${seq} of the chain: that link is not a close`,
    }),
  ]);
  if (seq === 2) expect(close).toThrow(expect.objectContaining({ code: 'close_refused' }));
  else expect(close().eventSeq).toBe(2);
});
