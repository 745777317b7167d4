import { formatMinor } from '../../core/money.ts';
import { type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import { multiplyDecimal, subtractPercent } from '../rates/rate-card.ts';
import type { BilledLine, BilledPeriod, BilledTenant } from '../statement/billed.ts';

export interface FocusNames {
  issuer: string;
  publisher: string;
  serviceName: string;
  serviceCategory: string;
  serviceSubcategory: string;
}

/**
 * A row of a FOCUS file: the value of each column, or null for an empty field. Decimals are text with a decimal point.
 */
export type FocusRow = Readonly<Record<FocusColumn, string | null>>;

export function focusRows(
  billed: BilledPeriod,
  tenant: BilledTenant,
  names: FocusNames,
  invoiceOf: (tenantId: string, currency: string) => string | null = () => null,
): FocusRow[] {
  const lines = subtractDiscounts(tenant.lines.filter(isPriced));
  const firstUsage = lines.findIndex(({ line }) => line.kind === 'usage');
  return lines.map(({ line, netMinor }, index) => ({
    ...commonColumns(billed, tenant, names),
    ...lineColumns(billed, line, netMinor),
    InvoiceId: invoiceOf(tenant.tenantId, line.currency) ?? tenant.statementNumber ?? null,
    // Only one row of each tenant has the number of requests, so that the sum of the column is correct.
    x_RequestCount: index === firstUsage ? tenant.requestCount.toString() : null,
  }));
}

type PricedLine = BilledLine & { amountMinor: bigint; currency: string };

/** A priced line, and its amount in minor units after the line's share of the discounts is subtracted. */
interface NetLine {
  line: PricedLine;
  netMinor: bigint;
}

/**
 * Spreads each discount over the usage lines that it reduces, in proportion to their amounts, because FOCUS does not
 * allow rows for discounts. The discount of a row is then its list cost minus its effective cost. The largest line
 * takes the rounding difference.
 */
function subtractDiscounts(lines: readonly PricedLine[]): NetLine[] {
  const net = lines.map((line) => ({ line, netMinor: line.amountMinor }));
  return net.filter(({ line, netMinor: off }) => {
    if (line.kind !== 'discount') return true;
    const reduced = net.filter((other) => isUsageLine(other.line) && other.line.currency === line.currency);
    const sum = reduced.reduce((total, other) => total + other.line.amountMinor, 0n);
    if (sum === 0n) return true;
    let left = off;
    for (const other of reduced) {
      const share = (off * other.line.amountMinor) / sum;
      other.netMinor += share;
      left -= share;
    }
    const size = ({ line: { amountMinor } }: NetLine): bigint => (amountMinor < 0n ? -amountMinor : amountMinor);
    reduced.reduce((a, b) => (size(b) > size(a) ? b : a)).netMinor += left;
    return false;
  });
}

function isUsageLine({ kind }: BilledLine): boolean {
  return kind === 'usage' || kind === 'requests';
}

export function isPriced(line: BilledLine): line is PricedLine {
  return line.amountMinor !== null && line.currency !== null;
}

type CommonColumn =
  | 'BillingPeriodEnd'
  | 'BillingPeriodStart'
  | 'HostProviderName'
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
  | 'Tags'
  | 'x_AsOf'
  | 'x_HeadDigest'
  | 'x_PeriodState';

function commonColumns(billed: BilledPeriod, tenant: BilledTenant, names: FocusNames): Pick<FocusRow, CommonColumn> {
  return {
    BillingPeriodEnd: formatTime(periodEndMs(billed.period)),
    BillingPeriodStart: formatTime(periodStartMs(billed.period)),
    HostProviderName: names.publisher,
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
    Tags: tenant.labels === undefined || tenant.labels === '{}' ? null : tenant.labels,
    x_AsOf: billed.asOf === null ? null : formatTime(Date.parse(billed.asOf)),
    x_HeadDigest: billed.headDigest,
    x_PeriodState: billed.state,
  };
}

function lineColumns(
  { period, workspaceId, workspaceName }: BilledPeriod,
  line: PricedLine,
  netMinor: bigint,
): Omit<FocusRow, CommonColumn | 'InvoiceId' | 'x_RequestCount'> {
  const cost = withFraction(formatMinor(netMinor, line.currency));
  const charged = line.correctsPeriod ?? period;
  const isManual = line.reason !== null;
  const isUsage = isUsageLine(line) || (line.kind === 'correction' && !isManual);
  const [unit, quantity] = line.kind === 'requests' ? ['Requests', line.requests] : ['Credits', line.credits];
  const priced = pricedUnits(line);
  const atPrice = (unitPrice: string | undefined) => ({
    unitPrice: unitPrice === undefined ? null : withFraction(unitPrice),
    cost: priced === null || unitPrice === undefined ? cost : withFraction(multiplyDecimal(unitPrice, priced.units)),
  });
  const list = atPrice(priced?.unitPrice);
  const contracted = atPrice(
    priced === null ? undefined : subtractPercent(priced.unitPrice, line.discountPercent ?? '0'),
  );
  return {
    BilledCost: cost,
    // FOCUS allows only one currency per billing account, so the id contains the currency.
    BillingAccountId: `${workspaceId}/${line.currency}`,
    BillingAccountName: `${workspaceName} (${line.currency})`,
    BillingCurrency: line.currency,
    // A top-up to the minimum charge is not usage, because it belongs to the whole charge and not to certain credits.
    ChargeCategory: isUsage ? 'Usage' : isManual && netMinor < 0n ? 'Credit' : 'Adjustment',
    ChargeClass: line.kind === 'correction' ? 'Correction' : null,
    ChargeDescription: describeLine(period, line),
    ChargeFrequency: isUsage ? 'Usage-Based' : isManual ? 'One-Time' : 'Recurring',
    ChargePeriodEnd: formatTime(periodEndMs(charged)),
    ChargePeriodStart: formatTime(periodStartMs(charged)),
    ConsumedQuantity: isUsage && quantity !== null ? withFraction(quantity.toString()) : null,
    ConsumedUnit: isUsage && quantity !== null ? unit : null,
    ContractedCost: contracted.cost,
    ContractedUnitPrice: contracted.unitPrice,
    EffectiveCost: cost,
    ListCost: list.cost,
    ListUnitPrice: list.unitPrice,
    PricingCategory: isUsage ? 'Standard' : null,
    PricingQuantity: priced === null ? null : withFraction(priced.units.toString()),
    PricingUnit: priced === null ? null : priced.unitCredits === 1n ? unit : `${priced.unitCredits} Credits`,
    SkuId: isUsage ? unit.toLowerCase() : null,
    SkuMeter: isUsage ? unit : null,
    SkuPriceId: isUsage ? `${line.rateCard}/${line.tier === null ? line.kind : `tier ${line.tier}`}` : null,
    x_EntryId: line.entryId === null ? null : line.entryId.toString(),
  };
}

/**
 * Returns the number of units that the line prices (packages, credits or requests), and the price of a unit. Returns
 * null if the line's amount is not a price times a number of units.
 */
function pricedUnits({ kind, credits, unitCredits, unitPrice, requests }: BilledLine) {
  if (kind === 'requests' && requests !== null && unitPrice !== null)
    return { units: requests, unitCredits: 1n, unitPrice };
  if (kind !== 'usage' || credits === null || unitCredits === null || unitPrice === null) return null;
  return { units: (credits + unitCredits - 1n) / unitCredits, unitCredits, unitPrice };
}

function describeLine(period: Period, { kind, tier, correctsPeriod, reason }: BilledLine): string {
  const why = reason === null ? '' : `: ${reason}`;
  if (kind === 'correction') return `Correction of ${correctsPeriod ?? period}, booked in ${period}${why}`;
  if (kind === 'manual') return `Manual line, ${period}${why}`;
  if (kind === 'requests') return `Requests, ${period}`;
  if (kind === 'discount') return `Discount, ${period}`;
  if (kind === 'minimum') return `Top-up to the minimum charge, ${period}`;
  return tier === 0 ? `Included credits, ${period}` : `Credits used, ${period}, tier ${tier}`;
}

/** Formats a time without fractions of a second, as FOCUS requires. */
function formatTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/**
 * Adds `.0` to whole numbers, because the FOCUS validator takes a column of whole numbers for integers instead of
 * decimals.
 */
function withFraction(decimal: string): string {
  return decimal.includes('.') ? decimal : `${decimal}.0`;
}

/**
 * The columns of the file in order, with the kind of their values: first columns of FOCUS 1.3, then our own columns.
 */
const FOCUS = {
  BilledCost: 'decimal',
  BillingAccountId: 'text',
  BillingAccountName: 'text',
  BillingCurrency: 'text',
  BillingPeriodEnd: 'date',
  BillingPeriodStart: 'date',
  ChargeCategory: 'text',
  ChargeClass: 'text',
  ChargeDescription: 'text',
  ChargeFrequency: 'text',
  ChargePeriodEnd: 'date',
  ChargePeriodStart: 'date',
  ConsumedQuantity: 'decimal',
  ConsumedUnit: 'text',
  ContractedCost: 'decimal',
  ContractedUnitPrice: 'decimal',
  EffectiveCost: 'decimal',
  HostProviderName: 'text',
  InvoiceId: 'text',
  InvoiceIssuerName: 'text',
  ListCost: 'decimal',
  ListUnitPrice: 'decimal',
  PricingCategory: 'text',
  PricingQuantity: 'decimal',
  PricingUnit: 'text',
  ProviderName: 'text',
  PublisherName: 'text',
  ServiceCategory: 'text',
  ServiceName: 'text',
  ServiceProviderName: 'text',
  ServiceSubcategory: 'text',
  SkuId: 'text',
  SkuMeter: 'text',
  SkuPriceDetails: 'text',
  SkuPriceId: 'text',
  SubAccountId: 'text',
  SubAccountName: 'text',
  Tags: 'text',
  // The specification requires custom columns to begin with `x_`. They come last.
  x_AsOf: 'date',
  x_EntryId: 'count',
  x_HeadDigest: 'text',
  x_PeriodState: 'text',
  x_RequestCount: 'count',
} as const;

type FocusColumn = keyof typeof FOCUS;

/** The columns of a FOCUS file in order. Their kinds are described in `reports/formats/columns.ts`. */
export const FOCUS_COLUMNS = Object.entries(FOCUS).map(([name, kind]) => ({ name: name as FocusColumn, kind }));
