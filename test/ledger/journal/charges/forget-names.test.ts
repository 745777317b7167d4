import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { forgetNames, importNames } from '../../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../../src/ledger/journal/charges/read-statement.ts';
import { renderJson } from '../../../../src/reports/formats/json.ts';
import { verifyText } from '../../../billing/statement/verify-text.ts';
import { closeMonth, openLedger, publish, reopenMonth, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

// cspell:ignore februaria januaria martia

const OF = { workspaceId: 'ws-1', nowMs: NOON };

/** Named before January was read, after its close, and after February's. */
async function namedLedger() {
  const { connection, path } = openLedger();
  const records = ['2026-01', '2026-02'].flatMap((period) => [
    usageRecord('acme', 5, period),
    usageRecord('globex', 7, period),
  ]);
  await publish(connection, records);
  const name = (displayName: string) => {
    const names = ['acme', 'globex'].map((tenantId) => {
      return {
        tenantId,
        displayName: `${displayName} of ${tenantId}`,
        externalRef: 'K-1',
        labels: { owner: `${displayName} of ${tenantId}` },
      };
    });
    importNames(connection, { ...OF, names, dryRun: false });
  };
  const close = (period: string) => closeMonth(connection, period);
  name('Januaria');
  close('2026-01');
  name('Februaria');
  close('2026-02');
  name('Martia');
  const forget = (dryRun = false) => forgetNames(connection, { ...OF, tenantId: 'acme', dryRun });
  const statement = (period: string) =>
    renderJson(readStatement(connection, { ...OF, period, tenantId: 'acme' }) ?? {});
  const expectWhole = () => expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
  const nameNow = () =>
    connection.prepare("SELECT display_name, external_ref, labels FROM finance_tenants WHERE tenant_id = 'acme'").get();
  return { connection, path, forget, statement, expectWhole, nameNow, close };
}

test('names without a commitment of a close in force are deleted, and chain and proofs stay valid', async () => {
  const { connection, forget, statement, expectWhole, nameNow } = await namedLedger();
  const before = ['2026-01', '2026-02'].map(statement);
  expect(forget(true)).toEqual({ forgotten: 1, named: ['2026-01', '2026-02'] });
  expect(nameNow()).toMatchObject({ display_name: 'Martia of acme' });
  expect(forget()).toEqual({ forgotten: 1, named: ['2026-01', '2026-02'] });
  expect(nameNow()).toEqual({ display_name: null, external_ref: null, labels: '{}' });
  expectWhole();
  expect(['2026-01', '2026-02'].map(statement)).toEqual(before);
  for (const text of before) expect(await verifyText(text)).toMatchObject({ isConsistent: true });
  const all = JSON.stringify(connection.prepare('SELECT * FROM tenant_names').all());
  expect(all).not.toContain('Martia of acme');
  expect(all).not.toContain('"{\\"owner\\":\\"Januaria of acme');
  expect(all).toContain('Martia of globex');
  expect(forget()).toEqual({ forgotten: 0, named: ['2026-01', '2026-02'] });
  await publish(connection, [usageRecord('acme', 6, '2026-02')], { nowMs: NOON + 1000 });
  expectWhole();
});

test('once its months are reopened, no trace of a name is left, not even bytes in the file, and they close without it', async () => {
  const { connection, path, forget, statement, expectWhole, nameNow, close } = await namedLedger();
  for (const period of ['2026-02', '2026-01']) {
    reopenMonth(connection, period);
  }
  expect(forget()).toEqual({ forgotten: 3, named: [] });
  expect(nameNow()).toEqual({ display_name: null, external_ref: null, labels: null });
  close('2026-01');
  expect(JSON.parse(statement('2026-01'))).toMatchObject({ tenants: [{ display_name: null, external_ref: null }] });
  expect(await verifyText(statement('2026-01'))).toMatchObject({ isConsistent: true });
  expectWhole();
  connection.pragma('wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(path).toString('latin1');
  for (const name of ['Januaria', 'Februaria', 'Martia']) {
    expect(bytes).not.toContain(`${name} of acme`);
    expect(bytes).toContain(`${name} of globex`);
  }
});

test('an unknown tenant is reported, and a dry run changes nothing', async () => {
  const { connection, forget } = await namedLedger();
  expect(forgetNames(connection, { ...OF, tenantId: 'nobody', dryRun: false })).toBeNull();
  const rows = () => connection.prepare('SELECT * FROM tenant_names').all();
  const before = rows();
  forget(true);
  expect(rows()).toEqual(before);
});
