import { parentPort } from 'node:worker_threads';
import type { z } from 'zod';
import type { Config } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { AppError, type PackedError, packError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import type { Actor, Scope, SlowRead } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { compareInvoices } from '../../operations/reconciliations/compare-invoices.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { Context } from '../../wiring/context.ts';
import { readCards } from '../console/money/read-cards.ts';
import { readComparison } from '../console/months/comparison.ts';
import { applyChange, readDocument, readPage } from './documents.ts';
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
   * The form of the reply. `document`: an object; `json`: the object as JSON, because a large document takes longer to
   * copy and to render than to read; `body`: the JSON with the added member `snapshot`.
   */
  as: 'document' | 'json' | 'body';
  actor: Actor;
  nowMs: number;
}

export type ReadReply = { id: number } & ({ document: object } | { error: PackedError });

/** Reads that are only a part of an operation or of a page. */
const INNER_READS: readonly SlowRead<z.ZodObject, object>[] = [compareInvoices, readComparison, readCards];

/** A message to the thread: a read to run, or the id of a read to cancel because its caller has gone. */
export type ReadMessage = ReadOrder | { cancel: number };

/** The controllers that abort the running reads, by the id of the read. */
const running = new Map<number, AbortController>();

async function run({ id, config, nowMs, actor, ...order }: ReadOrder): Promise<object> {
  const receivedMs = systemClock.monotonic();
  // A read uses one fixed time. Requests to the service use the passing time, because their signatures need it.
  const clock = { ...systemClock, now: () => nowMs };
  const passing = { ...clock, now: () => nowMs + Math.floor(systemClock.monotonic() - receivedMs) };
  const logger = createLogger({ level: 'silent' });
  const context = new Context(config, { clock, logger, clientOptions: { clock: passing } });
  const gone = new AbortController();
  running.set(id, gone);
  try {
    const { connection } = context.reader();
    return await read({ context, connection, actor, signal: gone.signal }, order);
  } finally {
    running.delete(id);
    await context.close();
  }
}

async function read(
  scope: Scope,
  { operation: name, input: sent, page, as }: Pick<ReadOrder, 'operation' | 'input' | 'page' | 'as'>,
): Promise<object> {
  const input = withBuffers(sent);
  const inner = INNER_READS.find((each) => each.name === name);
  if (inner !== undefined) return inner.run(scope, input);
  const operation = OPERATIONS.find((each) => each.name === name);
  if (operation === undefined) throw new Error(`${name} is not an operation`);
  if (operation.kind === 'list') {
    if (page === null) throw new Error(`${name} is read page by page`);
    return readPage(operation, scope, input, page);
  }
  if (operation.kind === 'document' && as === 'document') return operation.run(scope, input);
  if (operation.kind === 'change' && input.dry_run !== true) throw new Error(`${name} is not a dry run`);
  const { document, snapshot } =
    operation.kind === 'change'
      ? await applyChange(operation, scope, input)
      : await readDocument(operation, scope, input);
  const shown = as === 'body' ? { ...document, snapshot } : document;
  return new TextEncoder().encode(scope.context.redact(renderJson(shown)));
}

/** Restores the files of an input: a Buffer arrives in a thread as a Uint8Array. */
function withBuffers(input: Record<string, unknown>): Record<string, unknown> {
  const { file } = input;
  if (typeof file !== 'object' || file === null || !('bytes' in file) || !(file.bytes instanceof Uint8Array))
    return input;
  const { buffer, byteOffset, byteLength } = file.bytes;
  return { ...input, file: { ...file, bytes: Buffer.from(buffer, byteOffset, byteLength) } };
}

/** This file runs as a thread and is never imported. */
parentPort?.on('message', async (message: ReadMessage) => {
  if ('cancel' in message) {
    running.get(message.cancel)?.abort(new AppError('cancelled', 'the caller has gone'));
    return;
  }
  const { id } = message;
  const reply = await run(message).then(
    (document): ReadReply => ({ id, document }),
    (error: unknown): ReadReply => ({ id, error: packError(error) }),
  );
  const body = 'document' in reply && reply.document instanceof Uint8Array ? [reply.document.buffer] : [];
  parentPort?.postMessage(reply, body as ArrayBuffer[]);
});
