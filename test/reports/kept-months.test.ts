import { describe, expect, it } from 'vitest';
import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { addLine } from '../../src/ledger/journal/charges/manual-lines.ts';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { findPeriodOf } from '../../src/ledger/store/subjects.ts';
import { monthStates } from '../../src/reports/queries/kept-months.ts';
import { monthReader } from '../../src/reports/queries/month-totals.ts';
import { countRows } from '../support/count-rows.ts';
import { closeMonth, openLedger, publish, reopenMonth, usageRecord } from '../support/open-ledger.ts';
import { NOON } from '../support/time/test-clock.ts';

const PERIOD = '2026-03';
const PREVIOUS = '2026-02';
const RECORDS = [usageRecord('acme', 100, PREVIOUS), usageRecord('acme', 200, PERIOD)];
const CARD = { name: 'flat', currency: 'EUR', from_period: '2026-01', price_per_credit: '0.01' };
const LINE = { tenantId: 'acme', period: PERIOD, amountMinor: 500n, currency: 'EUR', reason: 'support', by: 'Ada' };
const NAME = { tenantId: 'acme', displayName: 'Acme', externalRef: null, labels: {} };

async function openWithTwoWorkspaces(): Promise<LedgerDb> {
  const { connection } = openLedger();
  for (const workspaceId of ['ws-1', 'ws-2']) await publish(connection, RECORDS, { workspaceId });
  return connection;
}

function stateOf(connection: LedgerDb, workspaceId: string, period: string): string {
  const found = findPeriodOf(connection, workspaceId, period);
  if (found === undefined) throw new Error(`${workspaceId} has no ${period}`);
  return monthStates(connection)(found);
}

describe('the state of a month', () => {
  it.each([
    ['a run', (connection: LedgerDb) => publish(connection, RECORDS, { nowMs: NOON + 1 })],
    ['other prices', (connection) => setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON })],
    ['a manual line', (connection) => addLine(connection, { ...LINE, workspaceId: 'ws-1', nowMs: NOON })],
    [
      'a name',
      (connection) => importNames(connection, { workspaceId: 'ws-1', names: [NAME], dryRun: false, nowMs: NOON }),
    ],
    ['a close of an earlier month', (connection) => closeMonth(connection, PREVIOUS)],
  ] satisfies [string, (connection: LedgerDb) => unknown][])('changes with %s', async (cause, change) => {
    const connection = await openWithTwoWorkspaces();
    if (cause === 'a manual line') setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
    const before = stateOf(connection, 'ws-1', PERIOD);
    await change(connection);
    expect(stateOf(connection, 'ws-1', PERIOD)).not.toBe(before);
  });

  it('does not change with a run of another workspace', async () => {
    const connection = await openWithTwoWorkspaces();
    const before = stateOf(connection, 'ws-1', PERIOD);
    await publish(connection, [usageRecord('acme', 999)], { workspaceId: 'ws-2', nowMs: NOON + 1 });
    expect(stateOf(connection, 'ws-1', PERIOD)).toBe(before);
  });

  it('of a closed month changes only when it is reopened and closed again', async () => {
    const connection = await openWithTwoWorkspaces();
    closeMonth(connection, PREVIOUS);
    const before = stateOf(connection, 'ws-1', PREVIOUS);
    await publish(connection, [usageRecord('acme', 999, PREVIOUS)], { nowMs: NOON + 1 });
    setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON + 2 });
    expect(stateOf(connection, 'ws-1', PREVIOUS)).toBe(before);
    reopenMonth(connection, PREVIOUS, NOON + 3);
    closeMonth(connection, PREVIOUS, NOON + 4);
    expect(stateOf(connection, 'ws-1', PREVIOUS)).not.toBe(before);
  });
});

describe('the totals of a month', () => {
  const totals = (connection: LedgerDb) => [...monthReader(connection)(PERIOD)];

  it('follow new prices before the next run', async () => {
    const connection = await openWithTwoWorkspaces();
    expect(totals(connection).map(({ money }) => money)).toEqual([[], []]);
    setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
    const eur = [{ currency: 'EUR', amountMinor: 200n }];
    expect(totals(connection).map(({ money }) => money)).toEqual([eur, eur]);
  });

  it('are read again for the workspace that was read, and for no other', async () => {
    const { connection } = openLedger();
    const counted = countRows(connection);
    for (const workspaceId of ['ws-1', 'ws-2']) await publish(connection, RECORDS, { workspaceId });
    totals(connection);
    const rowsOf = (read: () => unknown): number => {
      counted.start();
      read();
      return counted.rows;
    };
    const [kept, changed] = ['ws-1', 'ws-2'].map((id) => ({ id, credits: id === 'ws-1' ? 200n : 7n }));
    await publish(connection, [usageRecord('acme', 7)], { workspaceId: 'ws-2', nowMs: NOON + 1 });
    const first = rowsOf(() =>
      expect(totals(connection).map(({ workspaceId: id, creditsUsed: credits }) => ({ id, credits }))).toEqual([
        kept,
        changed,
      ]),
    );
    const second = rowsOf(() => totals(connection));
    expect(first - second).toBeGreaterThan(0);
    await publish(connection, [usageRecord('acme', 8)], { workspaceId: 'ws-1', nowMs: NOON + 2 });
    await publish(connection, [usageRecord('acme', 9)], { workspaceId: 'ws-2', nowMs: NOON + 3 });
    expect(rowsOf(() => totals(connection)) - second).toBe(2 * (first - second));
  });
});
