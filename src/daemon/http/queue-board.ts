import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';

const QUEUE_BOARD_PATH = '/admin/queues';

/** Serves bull-board over these queues, to look at only: what is due is for the ledger to say. */
export async function registerQueueBoard(app: FastifyInstance, queues: readonly Queue[]): Promise<void> {
  const adapter = new FastifyAdapter();
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: adapter,
    options: {
      uiConfig: { boardTitle: 'usage-ledger', hideDocsLink: true, hideRedisDetails: true },
    },
  });
  await app.register(adapter.registerPlugin(), { prefix: QUEUE_BOARD_PATH });
}
