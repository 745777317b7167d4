import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';

import { queueLabel } from './measurements.ts';

export const QUEUE_BOARD_PATH = '/admin/queues';

/**
 * Registers bull-board over these queues, to look at only: what is due is for the ledger to say. Loaded here, because it
 * takes a tenth of a daemon's memory and most daemons are never asked for it.
 */
export async function registerQueueBoard(app: FastifyInstance, queues: readonly Queue[]): Promise<void> {
  const [{ createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/fastify'),
  ]);
  const adapter = new FastifyAdapter();
  createBullBoard({
    queues: queues.map((queue) => {
      const shown = new BullMQAdapter(queue, { readOnlyMode: true });
      // The board's menu and addresses go by this name and by no other.
      shown.getName = () => queueLabel(queue.name);
      shown.setFormatter('name', nameOf);
      return shown;
    }),
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'usage-ledger', hideDocsLink: true, hideRedisDetails: true },
    },
  });
  // Its page asks for fonts elsewhere, which the policy of this server forbids: every visit would be a complaint.
  app.addHook('onSend', async (_request, _reply, payload) =>
    typeof payload === 'string' ? payload.replace(/<link\b[^>]*\bfonts\.g[^>]*>/g, '') : payload,
  );
  await app.register(adapter.registerPlugin(), { prefix: QUEUE_BOARD_PATH });
}

/** What a job is about, in place of the word that all jobs of a queue have in common. */
function nameOf({ name, data }: { name?: string; data?: Partial<Record<string, unknown>> }): string {
  const { workspaceId, slot, notificationId } = data ?? {};
  const about = [workspaceId, slot, notificationId].filter((part) => typeof part === 'string');
  return [name ?? 'job', ...about].join(' ');
}
