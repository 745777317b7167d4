import type { FocusVersion } from '../../core/text/finance-views.ts';

/** The columns of 1.2, in the order in which they are written. */
const COLUMNS_1_2 = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'InvoiceId',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ServiceCategory',
  'ServiceName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceDetails',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
] as const;

/** New in 1.3, where `ProviderName` stays beside them. */
const COLUMNS_1_3 = ['HostProviderName', 'ServiceProviderName'] as const;

/** Ours; the specification wants such columns to begin with `x_`, and they stand last. */
const OWN_COLUMNS = ['x_AsOf', 'x_EntryId', 'x_HeadDigest', 'x_PeriodState', 'x_RequestCount'] as const;

export type FocusColumn = (typeof COLUMNS_1_2)[number] | (typeof COLUMNS_1_3)[number] | (typeof OWN_COLUMNS)[number];

/** The columns of a version, in the order in which they are written. */
export function focusColumns(version: FocusVersion): readonly FocusColumn[] {
  const standard = version === '1.2' ? [...COLUMNS_1_2] : [...COLUMNS_1_2, ...COLUMNS_1_3].sort();
  return [...standard, ...OWN_COLUMNS];
}

const DECIMALS: readonly FocusColumn[] = [
  ...([
    'BilledCost',
    'ConsumedQuantity',
    'ContractedCost',
    'ContractedUnitPrice',
    'EffectiveCost',
    'ListCost',
  ] as const),
  ...(['ListUnitPrice', 'PricingQuantity'] as const),
];
const TIMES: readonly FocusColumn[] = [
  ...(['BillingPeriodEnd', 'BillingPeriodStart', 'ChargePeriodEnd', 'ChargePeriodStart', 'x_AsOf'] as const),
];
const INTEGERS: readonly FocusColumn[] = ['x_EntryId', 'x_RequestCount'];

/** What a column holds, in the words of `reports/formats/sheet.ts`. */
export function focusKind(column: FocusColumn): 'text' | 'integer' | 'decimal' | 'time' {
  if (DECIMALS.includes(column)) return 'decimal';
  if (TIMES.includes(column)) return 'time';
  return INTEGERS.includes(column) ? 'integer' : 'text';
}
