import { expect, test } from 'vitest';
import { type ReconcileInput, reconcile, type SideFigures } from '../../../src/billing/reconcile/reconcile.ts';

const figures = (credits: bigint | null, amountMinor: bigint | null): SideFigures => ({ credits, amountMinor });

function statuses(
  input: Partial<Record<'ledger' | 'service' | 'invoice', Record<string, SideFigures>>>,
  toleranceMinor = 0n,
) {
  const sides: ReconcileInput = {
    ledger: new Map(Object.entries(input.ledger ?? {})),
    service: input.service === undefined ? null : new Map(Object.entries(input.service)),
    invoice: new Map(Object.entries(input.invoice ?? {})),
    toleranceMinor,
  };
  return Object.fromEntries(reconcile(sides).map(({ tenantId, status }) => [tenantId, status]));
}

test('each tenant is matched, missing, extra or different', () => {
  const ledger = {
    same: figures(10n, 100n),
    forgotten: figures(5n, 50n),
    dearer: figures(7n, 70n),
    idle: figures(0n, 0n),
  };
  const invoice = { same: figures(10n, 100n), dearer: figures(7n, 71n), stranger: figures(1n, 10n) };
  expect(statuses({ ledger, invoice })).toEqual({
    same: 'matched',
    forgotten: 'missing',
    dearer: 'different',
    stranger: 'extra',
    idle: 'matched',
  });
});

test('amounts may differ by the tolerance, credits may not', () => {
  const ledger = { a: figures(7n, 70n), b: figures(7n, 70n), c: figures(7n, 70n) };
  const invoice = { a: figures(7n, 72n), b: figures(7n, 67n), c: figures(8n, 70n) };
  expect(statuses({ ledger, invoice }, 2n)).toEqual({ a: 'matched', b: 'different', c: 'different' });
});

test('an invoice without credits is compared by amounts alone, one without amounts by credits', () => {
  const ledger = { a: figures(7n, 70n), b: figures(7n, 70n) };
  const invoice = { a: figures(null, 70n), b: figures(8n, null) };
  expect(statuses({ ledger, invoice })).toEqual({ a: 'matched', b: 'different' });
});

test('a figure that differs at the service is a difference, whatever the invoice shows', () => {
  const ledger = { a: figures(7n, 70n), gone: figures(3n, 30n) };
  const service = { a: figures(9n, null), new: figures(1n, null) };
  expect(statuses({ ledger, service, invoice: ledger })).toEqual({
    a: 'different',
    gone: 'different',
    new: 'different',
  });
});
