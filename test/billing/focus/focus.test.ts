import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FocusNames, focusRows } from '../../../src/billing/focus/focus-rows.ts';
import { multiplyDecimal } from '../../../src/billing/rates/rate-card.ts';
import type { BilledLine, BilledPeriod, BilledTenant } from '../../../src/billing/statement/billed.ts';
import { csvPieces } from '../../../src/reports/formats/csv.ts';
import { focusSheet } from '../../../src/reports/statement/focus-sheet.ts';
import { brokenRules, type ReadRow, readFocus } from './focus-rules.ts';

const NAMES: FocusNames = {
  issuer: 'Reseller Ltd',
  publisher: 'Papermap',
  serviceName: 'Papermap',
  serviceCategory: 'Analytics',
  serviceSubcategory: 'Business Intelligence',
};

const FEBRUARY: BilledPeriod = {
  workspaceId: 'ws-1',
  workspaceName: 'Production',
  period: '2026-02',
  state: 'closed',
  asOf: '2026-03-04T10:11:12.345Z',
  headDigest: 'ab'.repeat(32),
};

const LINE: BilledLine = {
  discountPercent: '3.6',
  kind: 'usage',
  tier: 1,
  credits: 1200n,
  unitCredits: 1n,
  unitPrice: '0.0125',
  amountMinor: 1500n,
  currency: 'EUR',
  rateCard: 'standard',
  correctsPeriod: null,
  entryId: null,
  reason: null,
  requests: null,
};
const NO_USAGE = { tier: null, credits: null, unitCredits: null, unitPrice: null };

const ACME: BilledTenant = {
  tenantId: 'acme',
  displayName: 'Acme, "the" Corp',
  externalRef: null,
  creditsUsed: 1700n,
  requestCount: 42n,
  labels: '{"team":"north, \\"A\\""}',
  lines: [
    { ...LINE, tier: 0, credits: 500n, unitPrice: '0', amountMinor: 0n },
    LINE,
    { ...LINE, tier: 2, credits: 2500n, unitCredits: 1000n, unitPrice: '9', amountMinor: 2700n },
    { ...LINE, ...NO_USAGE, kind: 'discount', amountMinor: -150n },
    { ...LINE, ...NO_USAGE, kind: 'minimum', amountMinor: 1000n },
    {
      ...LINE,
      ...NO_USAGE,
      kind: 'correction',
      credits: -200n,
      amountMinor: -250n,
      correctsPeriod: '2026-01',
      entryId: 7n,
    },
  ],
};

function writeAndRead(tenants: readonly BilledTenant[]) {
  const rows = tenants.map((tenant) => focusRows(FEBRUARY, tenant, NAMES));
  return readFocus([...csvPieces(focusSheet(rows), { raw: true })].join(''));
}

function pick(row: ReadRow | undefined, ...columns: string[]): unknown[] {
  return columns.map((column) => row?.[column]);
}

describe('a FOCUS file, read back', () => {
  test('obeys every static rule', () => {
    const { header, rows } = writeAndRead([ACME]);
    expect(rows).toHaveLength(5);
    expect(brokenRules(header, rows)).toEqual([]);
  });

  test('obeys every static rule for any line', () => {
    const decimal = fc.stringMatching(/^(0|[1-9]\d{0,5})(\.\d{1,12})?$/);
    const usage = fc
      .record({ tier: fc.nat(5), credits: fc.bigInt(0n, 2n ** 63n - 1n), unitPrice: decimal, packaged: fc.boolean() })
      .map(({ packaged, ...rest }) => ({ ...LINE, ...rest, unitCredits: packaged ? 1000n : 1n }));
    const other = fc
      .record({
        kind: fc.constantFrom('discount', 'minimum', 'correction'),
        amountMinor: fc.bigInt(-(10n ** 15n), 10n ** 15n),
      })
      .map(({ kind, amountMinor }): BilledLine => {
        const corrects = kind === 'correction' ? { credits: amountMinor, correctsPeriod: '2025-12' } : {};
        return { ...LINE, ...NO_USAGE, kind, amountMinor, ...corrects };
      });
    const currency = fc.constantFrom('EUR', 'JPY', 'KWD');
    const lines = fc.array(
      fc.tuple(fc.oneof(usage, other), currency).map(([line, code]) => ({ ...line, currency: code })),
    );
    fc.assert(
      fc.property(lines, (anyLines) => {
        const { header, rows } = writeAndRead([{ ...ACME, lines: anyLines }]);
        expect(brokenRules(header, rows)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test('has credits as the unit and money in the currency, both with a fraction', () => {
    const { rows } = writeAndRead([ACME]);
    expect(
      pick(rows[1], 'ConsumedQuantity', 'PricingQuantity', 'PricingUnit', 'BilledCost', 'BillingCurrency'),
    ).toEqual(['1200.0', '1200.0', 'Credits', '14.47', 'EUR']);
    expect(pick(rows[2], 'PricingQuantity', 'PricingUnit', 'ListUnitPrice', 'ListCost')).toEqual([
      '3.0',
      '1000 Credits',
      '9.0',
      '27.0',
    ]);
  });

  test('bills a correction in the booked period and names the corrected one', () => {
    const row = writeAndRead([ACME]).rows[4];
    expect(pick(row, 'ChargeClass', 'BilledCost', 'ConsumedQuantity', 'x_EntryId')).toEqual([
      'Correction',
      '-2.50',
      '-200.0',
      '7',
    ]);
    expect(pick(row, 'BillingPeriodStart', 'BillingPeriodEnd', 'ChargePeriodStart', 'ChargePeriodEnd')).toEqual([
      '2026-02-01T00:00:00Z',
      '2026-03-01T00:00:00Z',
      '2026-01-01T00:00:00Z',
      '2026-02-01T00:00:00Z',
    ]);
  });

  test('spreads a discount over the rows it reduces, so that list cost minus effective cost is the saving', () => {
    const { rows } = writeAndRead([ACME]);
    const cents = (column: string) =>
      rows.slice(0, 3).reduce((sum, row) => sum + Math.round(100 * Number(row[column])), 0);
    expect(rows.map((row) => row.ChargeDescription).join()).not.toContain('Discount');
    expect(cents('ListCost') - cents('EffectiveCost')).toBe(150);
    expect(rows.map((row) => row.BilledCost)).toEqual(['0.00', '14.47', '26.03', '10.00', '-2.50']);
    expect(pick(rows[1], 'ListUnitPrice', 'ContractedUnitPrice', 'ListCost', 'ContractedCost')).toEqual([
      ...['0.0125', '0.01205', '15.0', '14.46'],
    ]);
  });

  test('has one billing account per currency, and labels as tags', () => {
    const yen = { ...LINE, currency: 'JPY', amountMinor: 15n };
    const { rows } = writeAndRead([
      { ...ACME, lines: [LINE, yen] },
      { ...ACME, labels: '{}' },
    ]);
    expect(pick(rows[0], 'BillingAccountId', 'BillingAccountName', 'Tags')).toEqual([
      ...['ws-1/EUR', 'Production (EUR)', '{"team":"north, \\"A\\""}'],
    ]);
    expect(pick(rows[1], 'BillingAccountId', 'BillingAccountName')).toEqual(['ws-1/JPY', 'Production (JPY)']);
    expect(rows[2]?.Tags).toBeNull();
  });

  test("has costs that sum to the bill and requests that sum to the tenant's requests", () => {
    const { rows } = writeAndRead([ACME]);
    const cents = rows.map((row) => BigInt(String(row.BilledCost).replace('.', '')));
    expect(cents.reduce((sum, cost) => sum + cost, 0n)).toBe(4800n);
    expect(rows.map((row) => row.x_RequestCount)).toEqual(['42', null, null, null, null]);
  });

  test('keeps identifiers and names byte for byte, and shows the id if there is no name', () => {
    const tenant = { ...ACME, tenantId: '=1+1', lines: [LINE] };
    expect(pick(writeAndRead([tenant]).rows[0], 'SubAccountId', 'SubAccountName')).toEqual([
      '=1+1',
      'Acme, "the" Corp',
    ]);
    const nameless = writeAndRead([{ ...tenant, displayName: null }]).rows[0];
    expect(pick(nameless, 'SubAccountName')).toEqual(['=1+1']);
  });
});

describe('the rules themselves', () => {
  const { header, rows } = writeAndRead([ACME]);
  const broken = (change: Record<string, string | null>) =>
    brokenRules(
      header,
      rows.map((row) => ({ ...row, ...change })),
    ).length > 0;

  test('reject a file that breaks them', () => {
    expect(broken({})).toBe(false);
    expect(broken({ BilledCost: '15' })).toBe(true);
    expect(broken({ BillingCurrency: 'EUX' })).toBe(true);
    expect(broken({ ConsumedQuantity: null, ConsumedUnit: null })).toBe(true);
    expect(broken({ ServiceSubcategory: 'Search engine' })).toBe(true);
    expect(broken({ ListCost: '15.01' })).toBe(true);
    expect(broken({ BillingPeriodStart: '2026-02-01T00:00:00.000Z' })).toBe(true);
    expect(broken({ ProviderName: 'Somebody else' })).toBe(true);
    expect(broken({ SubAccountName: null })).toBe(true);
    const twoServices = rows.map((row, at) => ({
      ...row,
      ServiceSubcategory: at === 0 ? 'Search' : 'Other (Analytics)',
    }));
    expect(brokenRules(header, twoServices)).toContain('several ServiceSubcategory of ServiceName Papermap');
    expect(brokenRules(['x_AsOf', ...header.slice(0, -1)], rows)).toContain('custom columns are not last');
  });
});

test('a price times a whole number is exact', () => {
  expect(multiplyDecimal('0.0125', 1000n)).toBe('12.5');
  expect(multiplyDecimal('9', 3n)).toBe('27');
  expect(multiplyDecimal('0.000000000000000001', 2n ** 63n - 1n)).toBe('9.223372036854775807');
  expect(multiplyDecimal('0.5', -3n)).toBe('-1.5');
});
