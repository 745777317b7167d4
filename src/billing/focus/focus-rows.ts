import { formatMinor } from '../../core/money.ts';
import { type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import { timesWhole } from '../rates/decimal.ts';
import type { BilledLine, BilledPeriod, BilledTenant } from '../statement/billed.ts';
import type { FocusColumn } from './focus-columns.ts';

/** Who bills, and what the service is called, as the specification wants it named. */
export interface FocusNames {
  /** The reseller: issues the invoice and provides the service. */
  issuer: string;
  /** Who runs the service. */
  publisher: string;
  serviceName: string;
  serviceCategory: string;
  serviceSubcategory: string;
}

/** The values of one row, by column; null is an empty field. Decimals are text with a fraction. */
export type FocusRow = Readonly<Record<FocusColumn, string | null>>;

/** The rows of one tenant in one period: one a line that has a price. Columns that a version does not have are dropped by the writer. */
export function focusRows(billed: BilledPeriod, tenant: BilledTenant, names: FocusNames): FocusRow[] {
  const lines = tenant.lines.filter(isPriced);
  const firstUsage = lines.findIndex((line) => line.kind === 'usage');
  return lines.map((line, index) => ({
    ...common(billed, tenant, names),
    ...ofLine(billed.period, line),
    // Once a tenant, so that the column can be summed.
    x_RequestCount: index === firstUsage ? tenant.requestCount.toString() : null,
  }));
}

type PricedLine = BilledLine & { amountMinor: bigint; currency: string };

export function isPriced(line: BilledLine): line is PricedLine {
  return line.amountMinor !== null && line.currency !== null;
}

type CommonColumn =
  | 'BillingAccountId'
  | 'BillingAccountName'
  | 'BillingPeriodEnd'
  | 'BillingPeriodStart'
  | 'HostProviderName'
  | 'InvoiceId'
  | 'InvoiceIssuerName'
  | 'ProviderName'
  | 'PublisherName'
  | 'ServiceCategory'
  | 'ServiceName'
  | 'ServiceProviderName'
  | 'ServiceSubcategory'
  | 'SkuPriceDetails'
  | 'SubAccountId'
  | 'SubAccountName'
  | 'x_AsOf'
  | 'x_HeadDigest'
  | 'x_PeriodState';

function common(billed: BilledPeriod, tenant: BilledTenant, names: FocusNames): Pick<FocusRow, CommonColumn> {
  return {
    BillingAccountId: billed.workspaceId,
    BillingAccountName: billed.workspaceName,
    BillingPeriodEnd: timeOf(periodEndMs(billed.period)),
    BillingPeriodStart: timeOf(periodStartMs(billed.period)),
    HostProviderName: names.publisher,
    InvoiceId: null,
    InvoiceIssuerName: names.issuer,
    ProviderName: names.issuer,
    PublisherName: names.publisher,
    ServiceCategory: names.serviceCategory,
    ServiceName: names.serviceName,
    ServiceProviderName: names.issuer,
    ServiceSubcategory: names.serviceSubcategory,
    SkuPriceDetails: null,
    SubAccountId: tenant.tenantId,
    SubAccountName: tenant.displayName ?? tenant.tenantId,
    x_AsOf: billed.asOf === null ? null : timeOf(Date.parse(billed.asOf)),
    x_HeadDigest: billed.headDigest,
    x_PeriodState: billed.state,
  };
}

function ofLine(period: Period, line: PricedLine): Omit<FocusRow, CommonColumn | 'x_RequestCount'> {
  const cost = withFraction(formatMinor(line.amountMinor, line.currency));
  const charged = line.correctsPeriod ?? period;
  const isUsage = line.kind === 'usage' || line.kind === 'correction';
  const priced = pricedUnits(line);
  const exactCost = priced === null ? cost : withFraction(timesWhole(priced.unitPrice, priced.units));
  const unitPrice = priced === null ? null : withFraction(priced.unitPrice);
  return {
    BilledCost: cost,
    BillingCurrency: line.currency,
    // A discount and a top-up are no usage: they stand for the whole charge, not for credits.
    ChargeCategory: isUsage ? 'Usage' : 'Adjustment',
    ChargeClass: line.kind === 'correction' ? 'Correction' : null,
    ChargeDescription: describe(period, line),
    ChargeFrequency: isUsage ? 'Usage-Based' : 'Recurring',
    ChargePeriodEnd: timeOf(periodEndMs(charged)),
    ChargePeriodStart: timeOf(periodStartMs(charged)),
    ConsumedQuantity: isUsage && line.credits !== null ? withFraction(line.credits.toString()) : null,
    ConsumedUnit: isUsage && line.credits !== null ? 'Credits' : null,
    ContractedCost: exactCost,
    ContractedUnitPrice: unitPrice,
    EffectiveCost: cost,
    ListCost: exactCost,
    ListUnitPrice: unitPrice,
    PricingCategory: isUsage ? 'Standard' : null,
    PricingQuantity: priced === null ? null : withFraction(priced.units.toString()),
    PricingUnit: priced === null ? null : priced.unitCredits === 1n ? 'Credits' : `${priced.unitCredits} Credits`,
    SkuId: isUsage ? 'credits' : null,
    SkuMeter: isUsage ? 'Credits' : null,
    SkuPriceId: isUsage ? `${line.rateCard}/${line.tier === null ? 'correction' : `tier ${line.tier}`}` : null,
    x_EntryId: line.entryId === null ? null : line.entryId.toString(),
  };
}

/** What was priced how: packages where those are sold, else credits. Null when the line is not a price times units. */
function pricedUnits({ kind, credits, unitCredits, unitPrice }: BilledLine) {
  if (kind !== 'usage' || credits === null || unitCredits === null || unitPrice === null) return null;
  return { units: (credits + unitCredits - 1n) / unitCredits, unitCredits, unitPrice };
}

function describe(period: Period, { kind, tier, correctsPeriod }: BilledLine): string {
  if (kind === 'correction') return `Correction of ${correctsPeriod ?? period}, booked in ${period}`;
  if (kind === 'discount') return `Discount, ${period}`;
  if (kind === 'minimum') return `Top-up to the minimum charge, ${period}`;
  return tier === 0 ? `Included credits, ${period}` : `Credits used, ${period}, tier ${tier}`;
}

/** The specification has no fractions of a second. */
function timeOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** The validator's reader takes a column without any fraction for integers. */
function withFraction(decimal: string): string {
  return decimal.includes('.') ? decimal : `${decimal}.0`;
}
