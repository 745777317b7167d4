import { z } from 'zod';
import { InputError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { findEarlierAddition } from '../../ledger/journal/charges/line-reports.ts';
import { MAX_LINE_MINOR } from '../../ledger/journal/charges/manual-lines.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, changeOperation } from '../operation.ts';
import { idText, periodText } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { checkReason, lineSchema, MAX_REASON_CHARACTERS, toLineRecord, writeLineOnce } from './line-record.ts';

const MAX_AMOUNT_CHARACTERS = 40;

export const addLine = changeOperation({
  name: 'lines.add',
  summary: "Add an amount to a tenant's charges of a month, such as a credit note or a fee",
  role: 'finance',
  input: z.strictObject({
    workspace: idText.optional().describe('the workspace; required if there are several'),
    tenant: idText.describe('the tenant'),
    period: periodText.describe('the month; a closed month gets a correction'),
    amount: z.string().max(MAX_AMOUNT_CHARACTERS).describe('such as 49.00, or -12.50 for a credit'),
    currency: z.string().max(MAX_AMOUNT_CHARACTERS).describe('an ISO 4217 code, such as EUR'),
    reason: z.string().max(MAX_REASON_CHARACTERS).describe("the reason; printed on the tenant's statement"),
  }),
  output: lineSchema,
  http: { method: 'POST', path: '/lines' },
  command: 'lines add',
  async run({ context, connection, actor }, { workspace, tenant: tenantId, period, currency, ...input }) {
    const { id: workspaceId } = chooseWorkspace(context.config, workspace);
    const amountMinor = lineAmount(input.amount, currency);
    const reason = checkReason(input.reason);
    const writer = await context.existingWriter();
    const line = { workspaceId, tenantId, period, amountMinor, currency, reason, by: actorText(actor) };
    const { report, repeated, ...recorded } = await writeLineOnce(
      'line_exists',
      () => writer.addLine({ ...line, nowMs: context.clock.now() }),
      () => findEarlierAddition(connection, line),
    );
    const notes = checkpointNotes(recorded);
    if (repeated !== null) notes.push(`${repeated}: nothing was added. To add it twice, give another reason.`);
    const priced = creditPricer(connection, workspaceId)(tenantId, period, 0n);
    if (priced !== null && priced.currency !== currency) {
      notes.push(`The tenant's rate card is in ${priced.currency}: the statement has a separate total in ${currency}.`);
    }
    return { applied: true, document: toLineRecord(report), notes };
  },
});

function lineAmount(amount: string, currency: string): bigint {
  if (!isCurrency(currency)) {
    throw new InputError(
      (nameOf) => `${nameOf('currency')} ${JSON.stringify(currency)} is not an ISO 4217 code`,
      'give a currency such as EUR',
    );
  }
  const minor = parseMinor(amount, currency);
  if (minor !== null && minor !== 0n && minor <= MAX_LINE_MINOR && minor >= -MAX_LINE_MINOR) return minor;
  throw new InputError(
    (nameOf) => `${nameOf('amount')} ${JSON.stringify(amount)} is not an amount in ${currency}`,
    `give a plain decimal other than 0, with the decimals of the currency, up to ${formatMinor(MAX_LINE_MINOR, currency)}`,
  );
}
