import { z } from 'zod';
import { PERIOD_FORM } from '../../core/period.ts';

/** What `month-end --json` says. Amounts are exact decimals as text, with as many decimals as their currency has. */

const amount = z.string().regex(/^-?\d+(\.\d{2,4})?$/);
const integer = z.bigint();
const count = z.int().min(0);
const time = z.string().nullable().describe('ISO-8601 UTC');
const currency = z.string().regex(/^[A-Z]{3}$/);

const names = z.strictObject({ count, first: z.array(z.string()).describe('the first twenty by id') });

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
  command: z.string().nullable().describe('what clears it; null: time does'),
});

const workspaceSchema = z.strictObject({
  workspace_id: z.string(),
  state: z.enum(['closed', 'ready', 'blocked']),
  reconciled: z
    .enum(['yes', 'differences', 'no'])
    .describe('what `reconcile --record` has found last of the close in force'),
  read_at: time.describe('when the last complete walk ended that had begun after the end of the month'),
  unchanged_since: time.describe('when the first of the walks ended that agree with that one'),
  settled: z.boolean(),
  tenants: count,
  credits_used: integer,
  unnamed: names.describe('tenants with neither a name nor a reference'),
  unpriced: names.describe('tenants, or corrections of them, that no rate card prices'),
  corrections: z
    .strictObject({ tenants: count, amounts: z.array(z.strictObject({ currency, amount })) })
    .describe('of earlier months, billed with this one'),
  amounts: z.array(z.strictObject({ currency, amount, previous_amount: amount })),
  blockers: z.array(blockerSchema),
});

const changeSchema = z.strictObject({
  workspace_id: z.string(),
  tenant_id: z.string(),
  amount,
  previous_amount: amount,
  credits_used: integer,
  previous_credits: integer,
  reasons: z.array(z.enum(['new', 'gone', 'usage', 'card', 'corrections', 'lines', 'requests'])),
});

const moneySchema = z.strictObject({
  currency,
  amount: amount.describe('what the statements of all workspaces come to; an estimate where they are not closed'),
  previous_amount: amount,
  change: amount,
  change_percent: z.number().nullable().describe('null: nothing before'),
  largest: z.array(changeSchema).max(5),
});

export const monthEndSchema = z.strictObject({
  period: z.string().regex(PERIOD_FORM),
  at: z.string(),
  ready: z.boolean().describe('all workspaces are closed or can be'),
  sound: z.boolean().describe('`verify` has found no fault'),
  faults: count,
  head_digest: z.string().nullable(),
  workspaces: z.array(workspaceSchema),
  money: z.array(moneySchema),
});

export type MonthEnd = z.output<typeof monthEndSchema>;
export type MonthEndWorkspace = MonthEnd['workspaces'][number];
export type Blocker = z.output<typeof blockerSchema>;
export type MonthEndChange = z.output<typeof changeSchema>;
