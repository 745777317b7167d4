import { z } from 'zod';
import { PERIOD_FORM } from '../../core/period.ts';

/**
 * The schema of `month-end --json`. Amounts are text: exact decimals with as many decimal places as their currency has.
 */

const amount = z.string().regex(/^-?\d+(\.\d{2,4})?$/);
const integerField = z.bigint();
const recordCount = z.int().min(0);
const time = z.string().nullable().describe('ISO-8601 UTC');
const currency = z.string().regex(/^[A-Z]{3}$/);

const names = z.strictObject({ count: recordCount, first: z.array(z.string()).describe('the first 20 by id') });

const blockerSchema = z.strictObject({
  kind: z.enum([
    'not_over',
    'settling',
    'unread',
    'unproven',
    'missing',
    'change',
    'unknown',
    'ended',
    'not_configured',
  ]),
  reason: z.string(),
  command: z.string().nullable().describe('the command that clears the blocker; null if only time does'),
});

const monthEndWorkspaceSchema = z.strictObject({
  workspace_id: z.string(),
  state: z.enum(['closed', 'ready', 'blocked']),
  reconciled: z
    .enum(['yes', 'differences', 'no'])
    .describe('the latest result of `reconcile --record` for the current close'),
  read_at: time.describe('end of the latest complete walk that began after the month ended'),
  unchanged_since: time.describe('end of the earliest walk with the same figures as that one'),
  settled: z.boolean(),
  tenants: recordCount,
  credits_used: integerField,
  unnamed: names.describe('tenants with neither a name nor a reference'),
  unpriced: names.describe('tenants with usage or corrections that no rate card prices'),
  corrections: z
    .strictObject({ tenants: recordCount, amounts: z.array(z.strictObject({ currency, amount })) })
    .describe('corrections of earlier months that are billed with this month'),
  amounts: z.array(z.strictObject({ currency, amount, previous_amount: amount })),
  blockers: z.array(blockerSchema),
});

const changeSchema = z.strictObject({
  workspace_id: z.string(),
  tenant_id: z.string(),
  amount,
  previous_amount: amount,
  credits_used: integerField,
  previous_credits: integerField,
  reasons: z.array(z.enum(['new', 'gone', 'usage', 'card', 'corrections', 'lines', 'requests'])),
});

const moneySchema = z.strictObject({
  currency,
  amount: amount.describe('total of the statements of all workspaces; an estimate for those that are not closed'),
  previous_amount: amount,
  change: amount,
  change_percent: z.number().nullable().describe('null if the previous amount is 0'),
  largest: z.array(changeSchema).max(5),
});

export const monthEndSchema = z.strictObject({
  period: z.string().regex(PERIOD_FORM),
  at: z.string(),
  ready: z.boolean().describe('true if every workspace is closed or can be closed'),
  sound: z.boolean().nullable().describe('true if `verify` found no fault; null if the ledger was not verified'),
  faults: recordCount,
  head_digest: z.string().nullable(),
  workspaces: z.array(monthEndWorkspaceSchema),
  money: z.array(moneySchema),
});

export type MonthEnd = z.output<typeof monthEndSchema>;
export type MonthEndWorkspace = MonthEnd['workspaces'][number];
export type Blocker = z.output<typeof blockerSchema>;
export type MonthEndChange = z.output<typeof changeSchema>;
