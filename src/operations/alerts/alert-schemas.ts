import { z } from 'zod';
import { ALERT_STATES, RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import { decimalText } from '../schemas.ts';

const time = z.string().nullable();
const figure = z.bigint().nullable().describe('null for a system alert');

/** The columns of `finance_alerts`. */
export const alertShape = {
  alert_id: z.string(),
  workspace_id: z.string().nullable().describe('null for an alert about the whole ledger'),
  tenant_id: z.string().nullable().describe('null for an alert about a workspace, and for a system alert'),
  period: z.string().nullable(),
  rule: z.enum(RULES),
  level: z.string(),
  severity: z.enum(SEVERITIES),
  state: z.enum(ALERT_STATES),
  notified_count: z.bigint(),
  previous_credits: figure,
  current_credits: figure,
  threshold: figure,
  first_fired_at: time,
  last_changed_at: z.string(),
  previous_requests: figure,
  current_requests: figure,
  muted_because: z.string().nullable().describe('why nobody is notified; null when somebody is'),
  cause: z.string().nullable().describe('the cause of a system alert'),
};

export const stakeMoneySchema = z
  .strictObject({ amount: decimalText, amount_minor: z.bigint(), currency: z.string() })
  .nullable();

export const alertSchema = z.strictObject({
  ...alertShape,
  rule_version: z.bigint(),
  tenant_name: z.string().nullable(),
});
