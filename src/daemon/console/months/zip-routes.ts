import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { summarizeError } from '../../../core/errors.ts';
import { requireClosed, writeMonthBundle } from '../../../operations/months/month-bundle.ts';
import { planMonth } from '../../../operations/months/plan-month.ts';
import { runRead } from '../../../operations/operation.ts';
import { writeStatementPages } from '../../../operations/statements/statement-pages.ts';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { periodOf } from './period-of.ts';

/**
 * The maximum number of archives that are made at once. Each of them holds a read transaction, which keeps SQLite's
 * write-ahead log from shrinking.
 */
const MAX_ARCHIVES = 2;

/** A bundle that somebody downloaded. Its digest must reach the auditor separately from the file. */
export interface MadeBundle {
  digest: string;
  madeAtMs: number;
}

type Write = (bytes: Uint8Array) => Promise<void>;

/** Serves the bundle of a month and the statements of all tenants, as ZIP files that are made while they are sent. */
export function addArchives(app: FastifyInstance, { scopeOf, context, logger }: ConsolePages): Map<string, MadeBundle> {
  const made = new Map<string, MadeBundle>();
  let open = 0;
  const send = (reply: FastifyReply, name: string, make: (write: Write) => Promise<void>): FastifyReply => {
    if (open >= MAX_ARCHIVES) {
      throw new ApiError(429, 'archives_busy', `${MAX_ARCHIVES} archives are being made`, {
        hint: 'wait until one of them is complete',
      });
    }
    open += 1;
    const stream = new PassThrough();
    const write: Write = async (bytes) => {
      if (stream.destroyed) throw new ApiError(499, 'cancelled', 'the browser left');
      if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
    };
    make(write)
      .then(() => stream.end())
      .catch((error: unknown) => {
        if (!stream.destroyed) {
          logger.error({ file: name, reason: summarizeError(error).message }, 'an archive was not completed');
        }
        stream.destroy(error instanceof Error ? error : undefined);
      })
      .finally(() => {
        open -= 1;
      });
    return reply
      .type('application/zip')
      .header('cache-control', 'no-store')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(stream);
  };
  app.get('/months/:period/bundle.zip', async (request, reply) => {
    const period = periodOf(request);
    const plan = await runRead(scopeOf(request), planMonth, { period });
    requireClosed(plan);
    return send(reply, `month-end-${period}.zip`, async (write) => {
      const { digest } = await writeMonthBundle(context, plan, write);
      made.set(period, { digest, madeAtMs: context.clock.now() });
    });
  });
  app.get('/months/:period/statements.zip', async (request, reply) => {
    const period = periodOf(request);
    return send(reply, `statements-${period}.zip`, async (write) => {
      await writeStatementPages(context, period, write);
    });
  });
  return made;
}
