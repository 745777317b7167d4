import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import type { PeriodEvent } from '../../ledger/journal/close/close-period.ts';
import { findLastPeriodEvent } from '../../ledger/journal/close/last-event.ts';
import type { WithCheckpoint } from '../../writer/session.ts';
import { actorText, type Scope } from '../operation.ts';
import { exactInteger, periodText } from '../schemas.ts';

export const periodEventSchema = z.strictObject({
  action: z.enum(['close', 'reopen']),
  workspace_id: z.string(),
  period: periodText,
  at: z.string(),
  tenants: exactInteger,
  credits_used: exactInteger,
  request_count: exactInteger,
  overridden: z.array(z.string()).describe('the blockers that the close overrode'),
  reversed_adjustments: z.int(),
  event_seq: z.int().describe('the position in the chain'),
  digest: z.string().describe('the head of the chain after it'),
});

export type PeriodEventRecord = z.output<typeof periodEventSchema>;

export function toEventRecord(event: PeriodEvent): PeriodEventRecord {
  return {
    action: event.action,
    workspace_id: event.workspaceId,
    period: event.period,
    at: event.at,
    tenants: event.tenants,
    credits_used: event.creditsUsed,
    request_count: event.requestCount,
    overridden: event.overridden,
    reversed_adjustments: event.reversed,
    event_seq: event.eventSeq,
    digest: event.digest,
  };
}

interface EventRequest {
  action: PeriodEvent['action'];
  workspaceId: string;
  period: string;
  note: string;
}

/**
 * Closes or reopens a period with `write`. If `write` is refused because the same actor has already made the same
 * change with the same note, returns that earlier event, so that a repeated request changes nothing.
 */
export async function writeOnce(
  { connection, actor }: Pick<Scope, 'connection' | 'actor'>,
  { action, workspaceId, period, note }: EventRequest,
  write: () => Promise<PeriodEvent & WithCheckpoint>,
): Promise<PeriodEvent & WithCheckpoint> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'close_refused') throw error;
    const last = findLastPeriodEvent(connection, workspaceId, period);
    const isRepeated = last?.action === action && last.actor === actorText(actor) && last.note === note;
    if (last === null || !isRepeated) throw error;
    return { ...last, checkpointFault: null };
  }
}
