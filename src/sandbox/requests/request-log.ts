import type { Endpoint } from './call.ts';

/** What is kept of a request: never a header's value, never a body. */
export interface RequestRecord {
  method: string;
  path: string;
  query: string;
  endpoint: Endpoint | null;
  /** Null until answered, and for ever when the socket was destroyed instead. */
  status: number | null;
}

/** Keeps between `limit` and twice `limit` of the latest requests; with 0 it only counts. */
export class RequestLog {
  count = 0;
  /** Oldest first; at least `limit` of them when there were so many. */
  records: RequestRecord[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  clear(): void {
    this.count = 0;
    this.records = [];
  }

  begin(request: Omit<RequestRecord, 'status'>): RequestRecord {
    this.count += 1;
    const record: RequestRecord = { ...request, status: null };
    if (this.#limit === 0) return record;
    if (this.records.length >= 2 * this.#limit) this.records = this.records.slice(-this.#limit);
    this.records.push(record);
    return record;
  }
}
