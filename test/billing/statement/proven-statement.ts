import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../src/ledger/journal/charges/read-statement.ts';
import { closePeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';

export const CARD = {
  name: 'standard',
  from_period: '2026-01',
  currency: 'EUR',
  price_per_credit: '0.0125',
  included_credits: 100,
  minimum: '20.00',
  discount_percent: '10',
};

export const JANUARY = { workspaceId: 'ws-1', period: '2026-01', nowMs: NOON };
const NAMES = [{ tenantId: 'acme', displayName: 'Acme Corp 7', externalRef: 'K-1001', labels: {} }];

/** Creates a ledger whose January is closed at its prices and names. */
export async function closedLedger(tenants = ['acme', 'globex', 'initech']) {
  const { connection } = openLedger();
  setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
  await publish(
    connection,
    tenants.map((tenant, index) => usageRecord(tenant, 1000 * (index + 1), '2026-01')),
  );
  importNames(connection, { workspaceId: 'ws-1', names: NAMES, dryRun: false, nowMs: NOON });
  const request = { ...JANUARY, by: 'Ada', note: 'run 12', force: true, settleHours: 48 };
  closePeriod(connection, request, commitClose);
  return connection;
}

export function written(connection: Awaited<ReturnType<typeof closedLedger>>, tenantId?: string): string {
  return renderJson(readStatement(connection, { ...JANUARY, tenantId }) ?? {});
}
