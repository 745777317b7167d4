import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { RequestDispatcher } from '../../net/dispatcher.ts';
import { type Attempt, BodyFault } from './attempt.ts';
import { type PageLease, SMALL_RESPONSE_BYTES } from './page-memory.ts';

/** A received response, its body still encoded. */
export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body in chunks; null if the response is not 2xx and its body broke off or was too long. */
  body: Uint8Array[] | null;
}

/** Maximum bytes of an undecoded body: `success` for a 2xx response, `failure` for any other. */
export interface BodyLimits {
  success: number;
  failure: number;
}

/**
 * Sends a request once and receives the complete response. Rejects with the error of the connection, the reason that
 * ended the attempt, or BodyFault. It passes a handler to undici's `dispatch`: `request` would create a stream for each
 * body, which takes a tenth of the processor time of a sync. `lease` is a share of a common memory limit: if it is too
 * small for a long response, reading pauses until memory is available.
 */
export function receive(
  dispatcher: RequestDispatcher,
  options: Dispatcher.DispatchOptions,
  attempt: Attempt,
  limits: BodyLimits,
  lease: PageLease | null = null,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    // undici can abort a request only once it has a connection; a request that still waits for one ends here.
    attempt.whenEnded(reject);
    if (attempt.reason === null)
      dispatcher.dispatch(options, new ResponseReceiver(resolve, reject, attempt, limits, lease));
  });
}

class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #resolve: (received: RawResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #attempt: Attempt;
  readonly #limits: BodyLimits;
  readonly #lease: PageLease | null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Uint8Array[] = [];
  #size = 0;
  #hasRequestedRoom = false;

  constructor(
    resolve: (received: RawResponse) => void,
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
    // Informational responses arrive before the final one, which overwrites them.
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    const limit = this.#isSuccess() ? this.#limits.success : this.#limits.failure;
    if (this.#size > limit) controller.abort(tooLong(limit));
    else if (this.#size > SMALL_RESPONSE_BYTES && this.#lease !== null) this.#waitForRoom(controller, this.#lease);
  }

  /** Pauses the response until memory for a long one is available. */
  #waitForRoom(controller: Dispatcher.DispatchController, lease: PageLease): void {
    if (this.#hasRequestedRoom) return;
    this.#hasRequestedRoom = true;
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
    // A response other than 2xx needs no body: its status is enough for the error.
    const failed = this.#status >= 300 && this.#attempt.reason === null;
    if (failed) this.#resolve({ status: this.#status, headers: this.#headers, body: null });
    else this.#reject(error);
  }

  #isSuccess(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }
}

const inflate = promisify(gunzip);

/** Default maximum of decoded bytes in a body; a page of 100 records has some 20 kB. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * Decodes a body according to its Content-Encoding. `maxBytes` limits the decoded bytes: 65 kB of gzip can become 64
 * MiB. The result is in chunks, so that the caller can copy each directly to its final place.
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
      throw new BodyFault('undecodable', 'the response has a content-encoding that was not requested');
  }
}

async function gunzipWithin(packed: Buffer, maxBytes: number, lease: PageLease | null): Promise<Uint8Array[]> {
  // If a service labels an empty body as gzip, there is nothing to decompress, not even the bytes that begin gzip data.
  if (packed.byteLength === 0) return [];
  // The last four bytes of gzip data announce the decoded length. If that is false, the body is decoded again below.
  const announced = packed.byteLength < 4 ? 0 : packed.readUInt32LE(packed.byteLength - 4);
  try {
    if (announced <= SMALL_RESPONSE_BYTES)
      return [await inflate(packed, { maxOutputLength: Math.min(SMALL_RESPONSE_BYTES, maxBytes) })];
  } catch (error) {
    if (!isOverLimit(error)) throw unpackFault(error);
  }
  await lease?.grow();
  try {
    return [await inflate(packed, { maxOutputLength: maxBytes })];
  } catch (error) {
    throw isOverLimit(error) ? tooLong(maxBytes) : unpackFault(error);
  }
}

function receiveErrorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isOverLimit(error: unknown): boolean {
  return receiveErrorCode(error) === 'ERR_BUFFER_TOO_LARGE';
}

function unpackFault(error: unknown): BodyFault {
  return receiveErrorCode(error) === 'Z_BUF_ERROR'
    ? new BodyFault('cut_off', 'the compressed response is truncated')
    : new BodyFault('not_gzip', 'the response is labelled gzip but is not');
}

function tooLong(maxBytes: number): BodyFault {
  return new BodyFault('too_long', `the response is longer than ${maxBytes} bytes`);
}
