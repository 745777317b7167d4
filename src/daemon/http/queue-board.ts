import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';

import { queueLabel } from './measurements.ts';

export const QUEUE_BOARD_PATH = '/admin/queues';

/**
 * Registers bull-board for these queues. It is read-only, because the ledger decides which slots are due. Its code is
 * loaded here, because bull-board takes a tenth of a daemon's memory and is rarely used.
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
      // The board's menu and URLs use only this name.
      shown.getName = () => queueLabel(queue.name);
      shown.setFormatter('name', jobTitle);
      return shown;
    }),
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'usage-ledger', hideDocsLink: true, hideRedisDetails: true },
    },
  });
  // The board loads external fonts, which the security policy of this server blocks, with an error in the browser on
  // every visit.
  app.addHook('onSend', async (_request, _reply, payload) =>
    typeof payload === 'string' ? payload.replace(/<link\b[^>]*\bfonts\.g[^>]*>/g, '') : payload,
  );
  await app.register(adapter.registerPlugin(), { prefix: QUEUE_BOARD_PATH });
}

/** Builds a job title from its workspace, slot or notification, because all jobs of a queue have the same name. */
function jobTitle({ name, data }: { name?: string; data?: Partial<Record<string, unknown>> }): string {
  const { workspaceId, slot, notificationId } = data ?? {};
  const about = [workspaceId, slot, notificationId].filter((part) => typeof part === 'string');
  return [name ?? 'job', ...about].join(' ');
}
