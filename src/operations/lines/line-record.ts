import { z } from 'zod';
import { AppError, InputError } from '../../core/errors.ts';
import { formatMinor } from '../../core/money.ts';
import type { LineChange } from '../../ledger/journal/charges/manual-lines.ts';
import { decimalText, exactInteger, periodText } from '../schemas.ts';

export const lineSchema = z.strictObject({
  line_id: z.int(),
  tenant_id: z.string(),
  period: periodText,
  amount_minor: exactInteger.describe('in minor units of the currency'),
  amount: decimalText,
  currency: z.string(),
  reason: z.string(),
  booked_period: periodText.nullable().describe('the month with the correction, if the month of the line is closed'),
  digest: z.string().describe('the head of the chain after it'),
});

export type LineRecord = z.output<typeof lineSchema>;

export function toLineRecord(report: LineChange): LineRecord {
  return {
    line_id: report.lineId,
    tenant_id: report.tenantId,
    period: report.period,
    amount_minor: report.amountMinor,
    amount: formatMinor(report.amountMinor, report.currency),
    currency: report.currency,
    reason: report.reason,
    booked_period: report.bookedPeriod,
    digest: report.digest,
  };
}

/** The maximum length of a reason, which is printed on the statement. */
export const MAX_REASON_CHARACTERS = 200;

/** Returns the reason without surrounding spaces. Throws InputError if it is empty or too long. */
export function checkReason(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= MAX_REASON_CHARACTERS) return reason;
  throw new InputError(
    (nameOf) => `${nameOf('reason')} has ${reason.length} characters`,
    `give a reason of 1 to ${MAX_REASON_CHARACTERS} characters: the tenant and auditors read it`,
  );
}

/** A manual line as the ledger has it after a request to add or revoke it. */
interface WrittenLine {
  report: LineChange;
  /** The reason why the checkpoint could not be written; null if it was written. */
  checkpointFault: string | null;
  /** If the request repeats an earlier one, the reason why nothing was written; null if the line was written. */
  repeated: string | null;
}

/**
 * Writes a line with `write`. If `write` fails with the error code `code`, calls `find`: if it finds the line of an
 * earlier, equal request, returns that line, so that a repeated request changes nothing.
 */
export async function writeLineOnce(
  code: string,
  write: () => Promise<LineChange & { checkpointFault: string | null }>,
  find: () => LineChange | null,
): Promise<WrittenLine> {
  try {
    const { checkpointFault, ...report } = await write();
    return { report, checkpointFault, repeated: null };
  } catch (error) {
    const report = error instanceof AppError && error.code === code ? find() : null;
    if (report === null) throw error;
    return { report, checkpointFault: null, repeated: (error as AppError).message };
  }
}
