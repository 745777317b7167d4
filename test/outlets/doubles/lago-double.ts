import { type Double, type DoubleOptions, type Held, type Question, type Reply, startDouble } from './double-server.ts';

/**
 * Lago, as its documentation and its own source (github.com/getlago/lago-api at 1b1c24a6) say.
 *
 * - POST /api/v1/events/batch: at most 100 events, all of them or none: 422 names each event that is at fault by its index
 *   (`app/services/events/create_batch_service.rb`). A batch in which one id was taken before is refused as a whole, by
 *   `value_already_exist`.
 * - With the events in Postgres, a subscription and a transaction id are unique for ever (`index_unique_transaction_id`).
 *   With ClickHouse, an event with the same id *and the same time* overwrites the one before, and one with another time
 *   counts beside it (types of `lago-javascript-client` 1.53.0, `DEDUP_KEY_COLUMNS` in `clickhouse_store.rb`).
 * - `timestamp`: Unix seconds, of any age; decimals are milliseconds. Neither code nor subscription is looked up before the
 *   answer: an unknown code is told by the webhook `events.errors` alone (`post_validation_service.rb`).
 * - Negative values are summed; a sum below zero is invoiced as 0 (`aggregations/base_service.rb`).
 * - GET /api/v1/events: by subscription, code and time, both ends included (`app/queries/events_query.rb`), 100 a page.
 * - 500 calls of event ingestion and 50 others in a second; 429 with X-RateLimit-Reset:
 *   getlago.com/docs/api-reference/rate-limits.
 *
 * Not found: a limit of bytes (none here), whether the 500 hold for the batch, too (they do here), Retry-After (none).
 */
export interface LagoOptions extends DoubleOptions {
  apiKey: string;
  metric: { code: string; property: string };
  store?: 'postgres' | 'clickhouse';
}

interface LagoEvent {
  transaction_id?: string;
  external_subscription_id?: string;
  code?: string;
  timestamp?: number | string;
  properties?: Record<string, unknown>;
}

const MAX_EVENTS = 100;
const PER_PAGE = 100;

export async function startLago(options: LagoOptions): Promise<Double> {
  const { now, metric, store = 'postgres' } = options;
  const sent = new Map<Held, LagoEvent>();
  const places = new Map<string, number>();

  const keyOf = (event: LagoEvent): string => {
    const key = `${event.external_subscription_id} ${event.transaction_id}`;
    return store === 'postgres' ? key : `${key} ${event.timestamp}`;
  };

  const ingest = ({ text }: Question, held: Held[]): Reply => {
    const { events = [] } = JSON.parse(text) as { events?: LagoEvent[] };
    if (events.length === 0) return unprocessable({ events: ['no_events'] });
    if (events.length > MAX_EVENTS) return unprocessable({ events: ['too_many_events'] });
    const faults: Record<string, unknown> = {};
    const keys = new Set<string>();
    for (const [at, event] of events.entries()) {
      const fault = faultOf(event);
      const again = store === 'postgres' && (places.has(keyOf(event)) || keys.has(keyOf(event)));
      if (fault !== null) faults[at] = fault;
      keys.add(keyOf(event));
      if (fault === null && again) faults[at] = { transaction_id: ['value_already_exist'] };
    }
    // What is invalid is said before anything is written, so that ids are not looked up then.
    const invalid = Object.entries(faults).filter(
      ([, fault]) => !JSON.stringify(fault).includes('value_already_exist'),
    );
    if (invalid.length > 0) return unprocessable(Object.fromEntries(invalid));
    if (Object.keys(faults).length > 0) return unprocessable(faults);
    for (const event of events) {
      const one: Held = {
        id: event.transaction_id ?? '',
        customer: event.external_subscription_id ?? '',
        atMs: event.timestamp === undefined ? now() : Math.round(Number(event.timestamp) * 1000),
        value: event.code === metric.code ? String(event.properties?.[metric.property] ?? 0) : '0',
        countedMs: now(),
      };
      const place = places.get(keyOf(event)) ?? held.length;
      places.set(keyOf(event), place);
      held[place] = one;
      sent.set(one, event);
    }
    return {
      status: 200,
      body: { events: events.map((event) => ({ ...event, lago_id: null, lago_customer_id: null })) },
    };
  };

  const list = ({ query }: Question, held: Held[]): Reply => {
    const page = Number(query.get('page') ?? 1);
    const limit = Number(query.get('per_page') ?? PER_PAGE);
    const from = Date.parse(query.get('timestamp_from') ?? '1970-01-01T00:00:00Z');
    const to = Date.parse(query.get('timestamp_to') ?? '9999-01-01T00:00:00Z');
    if (Number.isNaN(from) || Number.isNaN(to)) return unprocessable({ timestamp_from: ['invalid_date'] });
    const subscription = query.get('external_subscription_id');
    const code = query.get('code');
    const found = held
      .filter(({ customer }) => subscription === null || customer === subscription)
      .filter((event) => code === null || sent.get(event)?.code === code)
      .filter(({ atMs }) => atMs >= from && atMs <= to)
      .sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? -1 : 1));
    const pages = Math.ceil(found.length / limit);
    const events = found.slice((page - 1) * limit, page * limit).map((event) => ({
      lago_id: `lago-${event.id}`,
      transaction_id: event.id,
      lago_customer_id: null,
      code: sent.get(event)?.code ?? '',
      timestamp: new Date(event.atMs).toISOString(),
      precise_total_amount_cents: null,
      properties: sent.get(event)?.properties ?? {},
      lago_subscription_id: null,
      external_subscription_id: event.customer,
      created_at: new Date(event.countedMs).toISOString(),
    }));
    const meta = {
      current_page: found.length === 0 ? 0 : page,
      next_page: page < pages ? page + 1 : null,
      prev_page: page > 1 ? page - 1 : null,
      total_pages: pages,
      total_count: found.length,
    };
    return { status: 200, body: { events, meta } };
  };

  return startDouble(options, {
    token: () => options.apiKey,
    unauthorized: () => ({ status: 401, body: { status: 401, error: 'Unauthorized' } }),
    callsPerSecond: 500,
    tooMany: {
      status: 429,
      headers: { 'x-ratelimit-limit': '500', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
      body: { status: 429, error: 'Too Many Requests' },
    },
    answer(question, held) {
      const { method, path } = question;
      if (method === 'POST' && path === '/api/v1/events/batch') return ingest(question, held);
      if (method === 'GET' && path === '/api/v1/events') return list(question, held);
      if (method === 'GET' && path === `/api/v1/billable_metrics/${metric.code}`)
        return { status: 200, body: metricOf(metric) };
      return { status: 404, body: { status: 404, error: 'Not Found', code: 'event_not_found' } };
    },
  });
}

function faultOf({ transaction_id, code, timestamp }: LagoEvent): Record<string, string[]> | null {
  if (typeof transaction_id !== 'string' || transaction_id === '') return { transaction_id: ['value_is_mandatory'] };
  if (typeof code !== 'string' || code === '') return { code: ['value_is_mandatory'] };
  if (timestamp !== undefined && !/^\d+(\.\d+)?$/.test(String(timestamp))) return { timestamp: ['invalid_format'] };
  return null;
}

function metricOf({ code, property }: LagoOptions['metric']): Record<string, unknown> {
  const metric = {
    lago_id: 'lago-metric',
    name: 'Credits',
    code,
    aggregation_type: 'sum_agg',
    field_name: property,
    recurring: false,
  };
  return { billable_metric: metric };
}

function unprocessable(details: Record<string, unknown>): Reply {
  const body = { status: 422, error: 'Unprocessable Entity', code: 'validation_errors', error_details: details };
  return { status: 422, body };
}
