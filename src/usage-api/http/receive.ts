import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type Attempt, BodyFault } from './attempt.ts';
import { type PageLease, SMALL_BYTES } from './page-memory.ts';
import type { RequestDispatcher } from './pool.ts';

export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  /** In the pieces in which it came. Null: an answer other than 2xx whose body broke off or was longer than allowed. */
  body: Uint8Array[] | null;
}

/** Bytes of a body, on the wire. */
export interface BodyLimits {
  success: number;
  failure: number;
}

/**
 * Sends a request once and receives its answer whole. Rejects with what the connection fails with, with what the attempt
 * was ended with, or with BodyFault. It gives undici's `dispatch` a handler: `request` would make a stream of each body
 * first, which takes a tenth of the processor time of a sync. With a lease, a long answer waits half received until there is room for it.
 */
export function receive(
  dispatcher: RequestDispatcher,
  options: Dispatcher.DispatchOptions,
  attempt: Attempt,
  limits: BodyLimits,
  lease: PageLease | null = null,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    // undici can be told to abort only once a request has its connection: those that still wait for one end here.
    attempt.whenEnded(reject);
    if (attempt.reason === null) dispatcher.dispatch(options, new Receiver(resolve, reject, attempt, limits, lease));
  });
}

class Receiver implements Dispatcher.DispatchHandler {
  readonly #resolve: (received: Received) => void;
  readonly #reject: (error: unknown) => void;
  readonly #attempt: Attempt;
  readonly #limits: BodyLimits;
  readonly #lease: PageLease | null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Uint8Array[] = [];
  #size = 0;
  #asked = false;

  constructor(
    resolve: (received: Received) => void,
    reject: (error: unknown) => void,
    attempt: Attempt,
    limits: BodyLimits,
    lease: PageLease | null,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#attempt = attempt;
    this.#limits = limits;
    this.#lease = lease;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#chunks = [];
    this.#size = 0;
    this.#attempt.whenEnded((reason) => controller.abort(reason));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Informational answers come before the one that counts, which overwrites them.
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    const limit = this.#succeeded() ? this.#limits.success : this.#limits.failure;
    if (this.#size > limit) controller.abort(tooLong(limit));
    else if (this.#size > SMALL_BYTES && this.#lease !== null) this.#waitForRoom(controller, this.#lease);
  }

  /** The service sends no more until there is room for a long answer. */
  #waitForRoom(controller: Dispatcher.DispatchController, lease: PageLease): void {
    if (this.#asked) return;
    this.#asked = true;
    controller.pause();
    lease.grow().then(
      () => controller.resume(),
      () => undefined,
    );
  }

  onResponseEnd(): void {
    this.#resolve({ status: this.#status, headers: this.#headers, body: this.#chunks });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: unknown): void {
    // A failure's status says what happened, whatever becomes of its body.
    const failed = this.#status >= 300 && this.#attempt.reason === null;
    if (failed) this.#resolve({ status: this.#status, headers: this.#headers, body: null });
    else this.#reject(error);
  }

  #succeeded(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }
}

const inflate = promisify(gunzip);

/** Decoded bytes of a body that are read at most; a page of 100 records has some 20 kB. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * Undoes the content-encoding of a body. The limit counts decoded bytes: 65 kB of gzip can be 64 MiB. A body
 * comes and goes in pieces, so that whoever needs it whole joins it where it is to be.
 *
 * Throws BodyFault.
 */
export async function decodeBody(
  raw: Uint8Array[],
  encoding: string | null,
  maxBytes: number,
  lease: PageLease | null = null,
): Promise<Uint8Array[]> {
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return raw;
    case 'gzip':
    case 'x-gzip':
      return gunzipWithin(Buffer.concat(raw), maxBytes, lease);
    default:
      throw new BodyFault('undecodable', 'the answer has a content-encoding that was not asked for');
  }
}

async function gunzipWithin(packed: Buffer, maxBytes: number, lease: PageLease | null): Promise<Uint8Array[]> {
  // A service that labels an empty body as gzip sends no gzip header either.
  if (packed.byteLength === 0) return [];
  // The last four bytes say how long it becomes; what was cut off or lies is unpacked again with more room.
  const announced = packed.byteLength < 4 ? 0 : packed.readUInt32LE(packed.byteLength - 4);
  try {
    if (announced <= SMALL_BYTES) return [await inflate(packed, { maxOutputLength: Math.min(SMALL_BYTES, maxBytes) })];
  } catch (error) {
    if (!isTooLarge(error)) throw unpackFault(error);
  }
  await lease?.grow();
  try {
    return [await inflate(packed, { maxOutputLength: maxBytes })];
  } catch (error) {
    throw isTooLarge(error) ? tooLong(maxBytes) : unpackFault(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isTooLarge(error: unknown): boolean {
  return codeOf(error) === 'ERR_BUFFER_TOO_LARGE';
}

function unpackFault(error: unknown): BodyFault {
  return codeOf(error) === 'Z_BUF_ERROR'
    ? new BodyFault('cut_off', 'the compressed answer ends too early')
    : new BodyFault('not_gzip', 'the answer is not the gzip it claims to be');
}

function tooLong(maxBytes: number): BodyFault {
  return new BodyFault('too_long', `the answer is longer than ${maxBytes} bytes`);
}
