import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../../src/ledger/journal/charges/names.ts';
import { readStatement } from '../../../src/ledger/journal/charges/read-statement.ts';
import { closePeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { renderJson } from '../../../src/reports/formats/json.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';

// cspell:ignore söhne

const JANUARY = { workspaceId: 'ws-1', period: '2026-01', nowMs: NOON };

/** Closes January with this many tenants (`tenant-0` with 1,000 credits, `tenant-1` with 2,000) and returns the statements and the digest. */
export async function createClosedMonth({ tenants, currency }: { tenants: number; currency: string }) {
  const { connection } = openLedger();
  const terms = { price_per_credit: '0.0125', included_credits: 100, minimum: '20', discount_percent: '10' };
  const card = { name: 'standard', from_period: '2026-01', currency, ...terms };
  setCards(connection, { cards: [card], source: 'import', nowMs: NOON });
  const ids = Array.from({ length: tenants }, (_, index) => `tenant-${index}`);
  await publish(
    connection,
    ids.map((id, index) => usageRecord(id, 1000 * (index + 1), '2026-01')),
  );
  const names = [
    {
      tenantId: 'tenant-0',
      displayName: 'Jürgen “J\u2028” \u{1f600}\u200d \u00ad& Söhne\u007f',
      externalRef: 'K-1',
      labels: {},
    },
  ];
  importNames(connection, { workspaceId: 'ws-1', names, dryRun: false, nowMs: NOON });
  closePeriod(connection, { ...JANUARY, by: 'Ada', note: 'run 12', force: true, settleHours: 48 }, commitClose);
  const digest = connection.prepare('SELECT digest FROM period_events').pluck().get() as string;
  return {
    digest,
    text: (tenantId?: string) => renderJson(readStatement(connection, { ...JANUARY, tenantId }) ?? {}),
  };
}
