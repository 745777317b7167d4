import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { Endpoint } from './call.ts';

/** What is kept of a request: never a header's value, never a body. */
export interface RequestRecord {
  method: string;
  path: string;
  query: string;
  endpoint: Endpoint | null;
  headerNames: readonly string[];
  /** SHA-256 of X-Signature in hex, to tell a fresh signature from a repeated one; null without that header. */
  signatureSha256: string | null;
  /** Monotonic milliseconds, as of the clock. */
  receivedAtMs: number;
  /** Null until answered, and for ever when the socket was destroyed instead. */
  status: number | null;
}

export interface RequestLog {
  /** All requests since the start or the last `clear`, whether kept or not. */
  readonly count: number;
  /** The most requests that were being served at once. */
  readonly peakInFlight: number;
  /** The latest requests, oldest first; at least `limit` of them when there were so many. */
  readonly records: readonly RequestRecord[];
  clear(): void;
}

export interface RequestRecorder extends RequestLog {
  begin(
    request: Pick<RequestRecord, 'method' | 'path' | 'query' | 'endpoint'>,
    headers: IncomingHttpHeaders,
  ): RequestRecord;
  end(): void;
}

/** Keeps between `limit` and twice `limit` records; with 0 it only counts. */
export function createRequestRecorder(limit: number, clock: Pick<Clock, 'monotonic'>): RequestRecorder {
  let records: RequestRecord[] = [];
  let count = 0;
  let inFlight = 0;
  let peakInFlight = 0;
  let lastSignature = '';
  let lastDigest: string | null = null;

  function digestOf(signature: string | string[] | undefined): string | null {
    if (typeof signature !== 'string') return null;
    if (signature !== lastSignature || lastDigest === null) {
      lastDigest = createHash('sha256').update(signature).digest('hex');
      lastSignature = signature;
    }
    return lastDigest;
  }

  return {
    get count() {
      return count;
    },
    get peakInFlight() {
      return peakInFlight;
    },
    get records() {
      return records;
    },
    clear() {
      records = [];
      count = 0;
      peakInFlight = inFlight;
    },
    begin(request, headers) {
      count += 1;
      inFlight += 1;
      peakInFlight = Math.max(peakInFlight, inFlight);
      const record: RequestRecord = {
        ...request,
        headerNames: limit === 0 ? [] : Object.keys(headers),
        signatureSha256: limit === 0 ? null : digestOf(headers['x-signature']),
        receivedAtMs: clock.monotonic(),
        status: null,
      };
      if (limit > 0) {
        if (records.length >= 2 * limit) records = records.slice(-limit);
        records.push(record);
      }
      return record;
    },
    end() {
      inFlight -= 1;
    },
  };
}
