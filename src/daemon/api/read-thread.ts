import { parentPort } from 'node:worker_threads';
import type { Config } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { type PackedError, packError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import type { Actor } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { Context } from '../../wiring/context.ts';
import { readDocument, readPage } from './documents.ts';
import type { PageInput } from './read-input.ts';

/** A read for the thread to run. */
export interface ReadOrder {
  id: number;
  config: Config;
  operation: string;
  input: Record<string, unknown>;
  /** The page of a listing; null for a document. */
  page: PageInput | null;
  /**
   * `document`: an object; `json`: its JSON, because a large document takes longer to copy and to render than to read;
   * `body`: the JSON with the state of the ledger that it shows.
   */
  as: 'document' | 'json' | 'body';
  actor: Actor;
  nowMs: number;
}

export type ReadReply = { id: number } & ({ document: object } | { error: PackedError });

async function run({ config, operation: name, input, page, as, actor, nowMs }: ReadOrder): Promise<object> {
  const operation = OPERATIONS.find((each) => each.name === name);
  if (operation === undefined || operation.kind === 'change') throw new Error(`${name} is not a read`);
  const clock = { ...systemClock, now: () => nowMs };
  const context = new Context(config, { clock, logger: createLogger({ level: 'silent' }) });
  try {
    const { connection } = context.reader();
    const signal = new AbortController().signal;
    const scope = { context, connection, actor, signal };
    if (operation.kind === 'document') {
      if (as === 'document') return await operation.run(scope, input);
      const { document, snapshot } = await readDocument(operation, scope, input);
      const shown = as === 'body' ? { ...document, snapshot } : document;
      return new TextEncoder().encode(context.redact(renderJson(shown)));
    }
    if (page === null) throw new Error(`${name} is read page by page`);
    return readPage(operation, scope, input, page);
  } finally {
    await context.close();
  }
}

/** This file runs as a thread and is never imported. */
parentPort?.on('message', async (order: ReadOrder) => {
  const reply = await run(order).then(
    (document): ReadReply => ({ id: order.id, document }),
    (error: unknown): ReadReply => ({ id: order.id, error: packError(error) }),
  );
  const body = 'document' in reply && reply.document instanceof Uint8Array ? [reply.document.buffer] : [];
  parentPort?.postMessage(reply, body as ArrayBuffer[]);
});
