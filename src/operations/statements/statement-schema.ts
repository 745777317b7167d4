import { z } from 'zod';
import { decimalText } from '../schemas.ts';

/** The schema of the statement document in `billing/statement/document.ts`. */

const totals = z.array(z.strictObject({ currency: z.string(), amount_minor: z.bigint(), amount: decimalText }));
const leafProof = z.strictObject({
  index: z.int(),
  leaf: z.string(),
  path: z.array(z.string()).readonly(),
});

const line = z.strictObject({
  kind: z.enum(['usage', 'requests', 'minimum', 'discount', 'correction', 'manual']),
  tier: z.int().nullable(),
  credits: z.bigint().nullable().describe('null for a discount, a minimum or a manual line'),
  unit_credits: z.bigint().nullable(),
  unit_price: z.string().nullable(),
  amount_minor: z.bigint().nullable().describe('null for a correction that cannot be priced'),
  amount: decimalText.nullable(),
  currency: z.string().nullable(),
  rate_card: z.string().nullable(),
  corrects_period: z.string().nullable().describe('the closed month that a correction changes'),
  entry_id: z.bigint().nullable().describe('the entry of the ledger that caused a correction'),
  reason: z.string().nullable().describe('the reason of a manual line'),
  requests: z.bigint().nullable(),
});

export const statementTenantSchema = z.strictObject({
  tenant_id: z.string(),
  display_name: z.string().nullable(),
  external_ref: z.string().nullable(),
  statement_number: z.string().optional(),
  credits_used: z.bigint(),
  request_count: z.bigint(),
  projected_credits: z.bigint().nullable(),
  projected_totals: totals.optional(),
  totals,
  lines: z.array(line),
  proof: leafProof.nullable(),
});

const letterhead = z.strictObject({
  name: z.string(),
  address: z.array(z.string()).readonly(),
  logo: z.string().nullable(),
  footer: z.string().nullable(),
  language: z.enum(['en', 'de']),
});

export const statementHeadSchema = z.strictObject({
  format: z.string().describe('the version of the format'),
  workspace_id: z.string(),
  period: z.string(),
  state: z.enum(['open', 'settling', 'closed']),
  estimate: z.boolean().describe('true while the month is not closed'),
  as_of: z.string().nullable().describe('the time of the close, or of the latest run that covered the month'),
  certificate: z
    .strictObject({ run_id: z.string(), finished_at: z.string(), records: z.int(), digest: z.string() })
    .nullable()
    .describe('the run that verified the figures'),
  head_digest: z.string().nullable(),
  tenants_in_period: z.int().nullable(),
  credits_used: z.bigint(),
  totals,
  letterhead: letterhead.optional(),
  projected_credits: z.bigint().optional(),
  projected_totals: totals.optional(),
});

export const statementTailSchema = z.strictObject({
  proof: z
    .strictObject({
      close: z.string(),
      close_digest: z.string(),
      root: z.string(),
      internal: z.strictObject({ line: z.string(), nonce: z.string(), leaves: z.int(), period: leafProof }).nullable(),
    })
    .nullable()
    .describe('the proof of a closed month'),
});
