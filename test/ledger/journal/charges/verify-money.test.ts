import { expect, test } from 'vitest';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { dropTriggers } from '../../../support/open-ledger.ts';
import { buildChargedLedger, carryOut } from './charged-ledger.ts';

test('a card changed by another program no longer matches the stored charges', async () => {
  const connection = await buildChargedLedger();
  dropTriggers(connection);
  expect(carryOut(connection, `UPDATE rate_cards SET definition = replace(definition, '0.05', '0.06')`)).toBe(true);
  expect(checkMoney(connection)[0]).toMatchObject({
    check: 'money',
    message: '2026-01 of tenant "acme" in workspace "ws-1": the charge does not match the rate card',
  });
});
