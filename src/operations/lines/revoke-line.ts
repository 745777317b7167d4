import { z } from 'zod';
import { findEarlierRevocation } from '../../ledger/journal/charges/line-reports.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, changeOperation } from '../operation.ts';
import { checkReason, lineSchema, MAX_REASON_CHARACTERS, toLineRecord, writeLineOnce } from './line-record.ts';

export const revokeLine = changeOperation({
  name: 'lines.revoke',
  summary: 'Revoke a manual line: an estimate loses it, a closed month gets a correction',
  role: 'finance',
  input: z.strictObject({
    line_id: z.int().min(1).describe('the number of the line'),
    reason: z.string().max(MAX_REASON_CHARACTERS).describe('the reason; not shown to the tenant'),
  }),
  output: lineSchema,
  http: { method: 'POST', path: '/lines/{line_id}/revoke' },
  command: 'lines revoke',
  async run({ context, connection, actor }, { line_id: lineId, ...input }) {
    const revocation = { lineId, by: actorText(actor), reason: checkReason(input.reason) };
    const writer = await context.existingWriter();
    const { report, ...recorded } = await writeLineOnce(
      'line_revoked',
      () => writer.revokeLine({ ...revocation, nowMs: context.clock.now() }),
      () => findEarlierRevocation(connection, revocation),
    );
    return { applied: true, document: toLineRecord(report), notes: checkpointNotes(recorded) };
  },
});
