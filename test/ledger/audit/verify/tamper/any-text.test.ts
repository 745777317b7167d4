import { expect, test } from 'vitest';
import { checkMoney } from '../../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../../src/ledger/audit/verify/verify.ts';
import { setCards } from '../../../../../src/ledger/journal/charges/charge-run.ts';
import { dropTriggers } from '../../../../support/open-ledger.ts';
import { buildRichLedger } from './rich-ledger.ts';

test.each(['{', 'null', '[]', '{}'])(
  'a rate card that is %s is a fault of the money, and of the row',
  async (definition) => {
    const connection = await buildRichLedger();
    const card = { name: 'List', from_period: '2025-01', currency: 'EUR', price_per_credit: '0.01' };
    setCards(connection, { cards: [card], source: 'configuration', nowMs: Date.UTC(2026, 1, 5) });
    dropTriggers(connection);
    connection.prepare('UPDATE rate_cards SET definition = ?').run(definition);
    const checks = verifyLedger(connection, [checkMoney]).faults.map(({ check }) => check);
    expect(checks).toContain('money');
    expect(checks).toContain('controls');
  },
);
