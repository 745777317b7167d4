import { describe, expect, test } from 'vitest';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { importNames } from '../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../src/ledger/journal/charges/read-statement.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { CARD, closedLedger, JANUARY, written } from './proven-statement.ts';
import { verifyText } from './verify-text.ts';

describe('the statement of a closed period', () => {
  test('stays the same to the byte after later names, cards, corrections and runs', async () => {
    const connection = await closedLedger();
    const before = written(connection);
    const laterMs = NOON + 86_400_000;
    setCards(connection, { cards: [{ ...CARD, price_per_credit: '99' }], source: 'import', nowMs: laterMs });
    const names = [{ tenantId: 'acme', displayName: 'Renamed', externalRef: null, labels: { a: 'b' } }];
    importNames(connection, { workspaceId: 'ws-1', names, dryRun: false, nowMs: laterMs });
    await publish(connection, [usageRecord('acme', 5, '2026-01'), usageRecord('new', 7, '2026-01')], {
      nowMs: laterMs,
    });
    expect(renderJson(readStatement(connection, { ...JANUARY, nowMs: laterMs }) ?? {})).toBe(before);
    expect(
      connection.prepare("SELECT count(*) FROM finance_charge_lines WHERE kind = 'correction'").pluck().get(),
    ).toBe(2);
  });

  test('is refused if respelled, with a repeated key or with extra data, but may have other white space', async () => {
    const text = written(await closedLedger(), 'acme');
    expect((await verifyText(text.replace(/\n */g, ' '))).isConsistent).toBe(true);
    expect((await verifyText(text.replaceAll('\n', '\r\n'))).isConsistent).toBe(true);
    const changes: [string, string][] = [
      ['"credits_used": 1000', '"credits_used": 1e3'],
      ['"credits_used": 1000', '"credits_used": 1000.0'],
      ['"credits_used": 1000', '"credits_used": "1000"'],
      ['"credits_used": 1000', '"credits_used": 1, "credits_used": 1000'],
      ['"tenant_id": "acme"', '"tenant_id": "\\u0061cme"'],
      ['"estimate": false', '"estimate": false, "note": "paid"'],
      ['"state": "closed"', '"state": "closed\u0000"'],
      ['"Acme Corp 7"', '"Acme  Corp 7"'],
    ];
    for (const [was, becomes] of changes) {
      expect(text).toContain(was);
      expect((await verifyText(text.replace(was, becomes))).isConsistent, becomes).toBe(false);
    }
    expect((await verifyText(`${text}1`)).isConsistent).toBe(false);
  });
});

describe('the statement of a period that is not closed', () => {
  test('is an estimate with a projection at the current rate', async () => {
    const { connection } = openLedger();
    const middle = Date.UTC(2026, 2, 16, 12);
    await publish(connection, [usageRecord('acme', 1000, '2026-03')], { nowMs: middle });
    const later = middle + 3_600_000;
    expect(readStatement(connection, { workspaceId: 'ws-1', period: '2026-03', nowMs: later })).toMatchObject({
      state: 'open',
      estimate: true,
      projected_credits: 2000n,
      tenants: [{ tenant_id: 'acme', projected_credits: 2000n, projected_totals: [], totals: [] }],
    });
  });

  test('does not exist if the ledger has no data for the period', () => {
    const { connection } = openLedger();
    expect(readStatement(connection, JANUARY)).toBeNull();
  });
});
