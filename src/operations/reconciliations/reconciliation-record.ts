import { z } from 'zod';
import { CAUSES, type SideFigures } from '../../billing/reconcile/reconcile.ts';
import { formatMinor } from '../../core/money.ts';
import { decimalText, exactInteger, periodText } from '../schemas.ts';
import type { ReconciledRow } from './sides.ts';

const credits = exactInteger.nullable();
const amount = decimalText.nullable();
const count = z.int();

const rowSchema = z.strictObject({
  workspace_id: z.string(),
  tenant_id: z.string().describe('the tenant, or the tenants that share a reference'),
  status: z.enum(['matched', 'missing', 'extra', 'different']),
  service_credits: credits,
  ledger_credits: credits,
  invoice_credits: credits,
  ledger_amount: amount,
  invoice_amount: amount,
  currency: z.string().nullable(),
  other_currencies: z.string().nullable(),
  cause: z.enum(CAUSES).nullable(),
  display_name: z.string().nullable(),
});

export const reconciliationSchema = z.strictObject({
  workspace_id: z.string().nullable().describe('null for several workspaces'),
  period: periodText,
  state: z.enum(['open', 'settling', 'closed']).nullable(),
  currency: z.string().nullable().describe('null for several currencies, and without amounts'),
  totals: z.strictObject({
    tenants: z.strictObject({ matched: count, missing: count, extra: count, different: count }),
    ledger_amount: amount,
    invoice_amount: amount,
    amounts: z.array(z.strictObject({ currency: z.string(), ledger: decimalText, invoice: decimalText })),
  }),
  rows: z.array(rowSchema),
});

export type ReconciliationRow = z.output<typeof rowSchema>;

export function toReconciliationRow({
  tenantId,
  status,
  ledger,
  service,
  invoice,
  currency,
  otherCurrencies,
}: ReconciledRow) {
  return {
    tenant_id: tenantId,
    status,
    service_credits: service?.credits ?? null,
    ledger_credits: ledger?.credits ?? null,
    invoice_credits: invoice?.credits ?? null,
    ledger_amount: sideAmount(ledger, currency),
    invoice_amount: sideAmount(invoice, currency),
    currency,
    other_currencies: otherCurrencies.length === 0 ? null : otherCurrencies.join(' '),
  };
}

function sideAmount(side: SideFigures | null, currency: string | null): string | null {
  return side?.amountMinor == null || currency === null ? null : formatMinor(side.amountMinor, currency);
}

export function sumReconciliation(tenants: readonly ReconciledRow[], currencies: readonly (string | null)[]) {
  const counts = { matched: 0, missing: 0, extra: 0, different: 0 };
  for (const { status } of tenants) counts[status] += 1;
  const amounts = currencies.flatMap((currency) => {
    if (currency === null) return [];
    const inCurrency = tenants.filter((tenant) => tenant.currency === currency);
    const sum = (side: 'ledger' | 'invoice'): string =>
      formatMinor(
        inCurrency.reduce((total, tenant) => total + (tenant[side]?.amountMinor ?? 0n), 0n),
        currency,
      );
    return [{ currency, ledger: sum('ledger'), invoice: sum('invoice') }];
  });
  const only = amounts.length === 1 ? amounts[0] : undefined;
  const { ledger: ledger_amount = null, invoice: invoice_amount = null } = only ?? {};
  return { tenants: counts, ledger_amount, invoice_amount, amounts };
}
