import { summarizeError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { openBullmqQueue } from '../../queue/bullmq-queue.ts';
import { describeTarget } from '../../queue/redis/connection.ts';
import type { QueueCounts } from '../../queue/sync-queue.ts';
import type { Context } from '../../wiring/context.ts';
import { findRedis, probeRedis } from '../shared/redis-probe.ts';

/** What is known of the queue without starting anything. */
export type QueueStatus =
  | { status: 'not_running' }
  | { status: 'unavailable'; redis: string; reason: string }
  | { status: 'running'; redis: string; sync: QueueCounts };

/** Of the queue of this ledger, and since when which workspace's sync job has waited for its place. */
export interface QueueLook {
  status: QueueStatus;
  waitingSince: ReadonlyMap<string, number>;
}

export async function lookAtQueue(context: Context, id: string): Promise<QueueLook> {
  const nothingWaits = new Map<string, number>();
  const target = await findRedis(context.config);
  if (target === null) return { status: { status: 'not_running' }, waitingSince: nothingWaits };
  const redis = describeTarget(target);
  try {
    await probeRedis(target);
    const logger = createLogger({ level: 'silent' });
    const queue = await openBullmqQueue({ ledgerId: id, target, logger });
    try {
      const waitingSince = await queue.waitingSyncs();
      return { status: { status: 'running', redis, sync: await queue.counts() }, waitingSince };
    } finally {
      await queue.stop({ deadlineMs: 1000 });
    }
  } catch (error) {
    const { message: reason } = summarizeError(error);
    return { status: { status: 'unavailable', redis, reason }, waitingSince: nothingWaits };
  }
}

export function describeQueue(queue: QueueStatus): string {
  if (queue.status === 'not_running') return 'not running: the daemon starts it';
  if (queue.status === 'unavailable') return inertText(`${queue.redis} is not available: ${queue.reason}`);
  return `${inertText(queue.redis)}; sync ${describeCounts(queue.sync)}`;
}

function describeCounts({ waiting, active, delayed, failed }: QueueCounts): string {
  return `${waiting} waiting, ${active} active${delayed > 0 ? `, ${delayed} delayed` : ''}, ${failed} failed`;
}
