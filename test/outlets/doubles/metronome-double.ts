import {
  type Double,
  type DoubleOptions,
  type Held,
  Memory,
  type Question,
  type Reply,
  startDouble,
  sumBetween,
} from './double-server.ts';

/**
 * Metronome, as far as its documentation goes.
 *
 * - POST /v1/ingest: an array of 1 to 100 events, gzip allowed, answer without content; a transaction id is ignored for 34
 *   days after it was taken; events up to 34 days back; a time more than 24 hours ahead is refused; properties as strings;
 *   summed as decimals of any length: docs.metronome.com/api-reference/usage/ingest-events,
 *   docs.metronome.com/guides/events/send-usage-events, docs.metronome.com/api-reference/idempotency.
 * - A customer is named by id or ingest alias. Whoever it does not know yet is taken, too, and matched to nobody: the answer
 *   of POST /v1/events/search has `matched_customer` only "if a match was found" (types of `@metronome/sdk` 3.10.0).
 * - POST /v1/usage: sums by billable metric and by Metronome's own customer ids, with `next_page`; GET /v1/customers by
 *   `ingest_alias`; GET /v1/billable-metrics/ID (types of the SDK).
 *
 * Not found, and how it is here: a fault in one event refuses the call (400); a time older than 34 days is refused (400);
 * a rate of /v1/ingest ("100,000 events per second": 1,000 calls); Retry-After (1 second); a limit of bytes (none); negative
 * values (summed like others); how many customers a page of /v1/usage has (20).
 */
export interface MetronomeOptions extends DoubleOptions {
  token: string;
  metric: { id: string; eventType: string; property: string };
  /** Metronome's id of each customer, with its alias. */
  customers: readonly { id: string; alias: string }[];
}

interface IngestEvent {
  transaction_id: string;
  customer_id: string;
  event_type: string;
  timestamp: string;
  properties?: Record<string, unknown>;
}

export interface MetronomeDouble extends Double {
  /** Ids of what was taken and belongs to nobody. */
  unmatched: Set<string>;
}

const DAY_MS = 86_400_000;
const PAGE = 20;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export async function startMetronome(options: MetronomeOptions): Promise<MetronomeDouble> {
  const { now, metric } = options;
  const memory = new Memory(34 * DAY_MS);
  const taken = new Map<string, { event: IngestEvent; again: boolean }>();
  const unmatched = new Set<string>();
  const idOf = (name: string): string | undefined =>
    options.customers.find(({ id, alias }) => id === name || alias === name)?.id;

  const ingest = ({ text }: Question, held: Held[]): Reply => {
    const events = JSON.parse(text) as IngestEvent[];
    if (!Array.isArray(events) || events.length < 1 || events.length > 100) return refusal('Expected 1 to 100 events.');
    for (const [at, event] of events.entries()) {
      const fault = faultOf(event, now());
      if (fault !== null) return refusal(`events[${at}]: ${fault}`);
    }
    for (const event of events) {
      const id = event.transaction_id;
      const again = memory.has(id, now());
      taken.set(id, { event, again });
      if (again) continue;
      memory.add(id, now());
      const customer = idOf(event.customer_id);
      const value = event.properties?.[metric.property];
      if (customer === undefined) unmatched.add(id);
      else if (event.event_type === metric.eventType && isNumber(value)) {
        held.push({ id, customer, atMs: Date.parse(event.timestamp), value: String(value), countedMs: now() });
      }
    }
    return { status: 200 };
  };

  const usage = ({ text, query }: Question, held: Held[]): Reply => {
    const asked = JSON.parse(text) as {
      starting_on: string;
      ending_before: string;
      window_size: string;
      billable_metrics?: { id: string }[];
      customer_ids?: string[];
    };
    if (asked.window_size?.toUpperCase() !== 'NONE') return refusal('This double knows window_size "none" only.');
    if (asked.billable_metrics?.every(({ id }) => id !== metric.id)) {
      return { status: 404, body: { message: 'Billable metric not found' } };
    }
    const known = options.customers.map(({ id }) => id);
    const ids = asked.customer_ids ?? known;
    if (ids.some((id) => !known.includes(id))) return { status: 404, body: { message: 'Customer not found' } };
    const page = Number(query.get('next_page') ?? 0);
    const data = ids.slice(page * PAGE, (page + 1) * PAGE).map((customer_id) => ({
      customer_id,
      billable_metric_id: metric.id,
      billable_metric_name: 'Credits',
      start_timestamp: asked.starting_on,
      end_timestamp: asked.ending_before,
      value: Number(sumBetween(held, customer_id, Date.parse(asked.starting_on), Date.parse(asked.ending_before))),
    }));
    return { status: 200, body: { data, next_page: ids.length > (page + 1) * PAGE ? String(page + 1) : null } };
  };

  const search = ({ text }: Question): Reply => {
    const { transactionIds } = JSON.parse(text) as { transactionIds: string[] };
    const body = transactionIds.flatMap((id) => {
      const { event, again } = taken.get(id) ?? {};
      if (event === undefined) return [];
      const customer = idOf(event.customer_id);
      const matched = customer === undefined ? {} : { matched_customer: { id: customer, name: event.customer_id } };
      return [
        { id: `evt-${id}`, ...event, is_duplicate: again, processed_at: new Date(now()).toISOString(), ...matched },
      ];
    });
    return { status: 200, body };
  };

  const listCustomers = ({ query }: Question): Reply => {
    const alias = query.get('ingest_alias');
    const found = options.customers.filter((customer) => alias === null || customer.alias === alias);
    const data = found.map(({ id, alias: name }) => ({
      id,
      external_id: name,
      ingest_aliases: [name],
      name,
      custom_fields: {},
    }));
    return { status: 200, body: { data, next_page: null } };
  };

  return startDouble(options, {
    token: () => options.token,
    unauthorized: () => ({ status: 401, body: { message: 'Unauthorized' } }),
    callsPerSecond: 1000,
    tooMany: { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many requests' } },
    answer(question, held) {
      const { method, path } = question;
      if (method === 'POST' && path === '/v1/ingest') return ingest(question, held);
      if (method === 'POST' && path === '/v1/usage') return usage(question, held);
      if (method === 'POST' && path === '/v1/events/search') return search(question);
      if (method === 'GET' && path === '/v1/customers') return listCustomers(question);
      if (method === 'GET' && path === `/v1/billable-metrics/${metric.id}`) {
        const data = { id: metric.id, name: 'Credits', aggregation_key: metric.property, aggregation_type: 'SUM' };
        return { status: 200, body: { data } };
      }
      return { status: 404, body: { message: 'Not found' } };
    },
  }).then((double) => ({ ...double, unmatched }));
}

function faultOf(event: IngestEvent, nowMs: number): string | null {
  const { transaction_id, customer_id, event_type, timestamp, properties } = event;
  if (![transaction_id, customer_id, event_type, timestamp].every((text) => typeof text === 'string' && text !== '')) {
    return 'transaction_id, customer_id, event_type and timestamp are required';
  }
  if (properties !== undefined && (typeof properties !== 'object' || properties === null))
    return 'properties: no object';
  if (!RFC_3339.test(timestamp) || Number.isNaN(Date.parse(timestamp))) return 'timestamp: not RFC 3339';
  if (Date.parse(timestamp) > nowMs + DAY_MS) return 'timestamp: more than 24 hours in the future';
  if (Date.parse(timestamp) < nowMs - 34 * DAY_MS) return 'timestamp: more than 34 days in the past';
  return null;
}

function isNumber(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && Number.isFinite(Number(value));
}

function refusal(message: string): Reply {
  return { status: 400, body: { message } };
}
