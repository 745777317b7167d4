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

// cspell:ignore mtrusg

/**
 * Stripe's billing meters, as far as its documentation goes. The stream of v2 is there and v1's meter events are not: v1
 * takes one event a call, 1,000 calls a second and one at a time for each customer and meter (docs.stripe.com,
 * billing/subscriptions/usage-based/recording-usage-api), which is below 100,000 events a minute.
 *
 * - Session and stream, 15 minutes, 401 once it has expired, at most 100 events a call, 10,000 calls a second:
 *   docs.stripe.com/api/v2/billing/meter-event-stream, and the types of `stripe` 23.1.0.
 * - An identifier is unique "within a rolling 24 hour period", has at most 100 characters, and a time lies within the past
 *   35 days or 5 minutes ahead: docs.stripe.com/api/billing/meter-event/create, .../v2/billing/meter-events/object.
 * - Events of the stream are validated after the answer; what is refused is reported by
 *   `v1.billing.meter.error_report_triggered` with counts and *samples*: docs.stripe.com/api/v2/core/events/object. Its list
 *   gives events without their data, 30 days back: docs.stripe.com/event-destinations (thin events).
 * - Values are whole numbers, and negative ones correct others (recording-usage-api, meters/configure); at most 15
 *   significant digits: docs.stripe.com/changelog/dahlia/2026-04-22/billing-meter-event-values-validation.
 * - Summaries follow some time after the events, and their bounds are whole minutes: docs.stripe.com/api/billing/
 *   meter-event-summary/list.
 *
 * Not found, and how it is here: what becomes of an identifier that the stream gets again (it is dropped without a report;
 * v1 answers 400 "An event already exists with identifier", github.com/langfuse/langfuse/pull/16292), how many samples a
 * report has (10), how soon it comes (`reportDelayMs`), a limit of bytes (none), Retry-After (1 second). Its list of events is
 * not filtered by `created`: the types of its clients disagree on whether that is a number or a time.
 */
export interface StripeOptions extends DoubleOptions {
  apiKey: string;
  meter: { id: string; eventName: string; formula?: string; window?: string };
  customers: readonly string[];
  reportDelayMs?: number;
  /** Summaries show an event this long after it was taken. */
  settleMs?: number;
}

export interface StripeDouble extends Double {
  /** What was refused after the answer, by identifier. */
  refused: Map<string, string>;
  /** Whom it knows; one may be added. */
  customers: Set<string>;
}

interface StreamEvent {
  event_name: string;
  identifier: string;
  payload: Record<string, string>;
  timestamp: string;
}

interface Report {
  id: string;
  createdMs: number;
  type: string;
  errors: { code: string; identifier: string; message: string }[];
}

const DAY_MS = 86_400_000;
const SESSION_MS = 15 * 60_000;
const SAMPLES = 10;
const PAGE = 20;

export async function startStripe(options: StripeOptions): Promise<StripeDouble> {
  const { now, apiKey, meter, reportDelayMs = 0, settleMs = 0 } = options;
  const customers = new Set(options.customers);
  const memory = new Memory(DAY_MS);
  const sessions = new Map<string, number>();
  const reports: Report[] = [];
  const refused = new Map<string, string>();

  const fault = ({ event_name, payload, timestamp }: StreamEvent): string | null => {
    const { stripe_customer_id: customer, value } = payload;
    const atMs = Date.parse(timestamp);
    if (event_name !== meter.eventName) return 'no_meter';
    if (customer === undefined) return 'meter_event_no_customer_defined';
    if (!customers.has(customer)) return 'meter_event_customer_not_found';
    if (value === undefined || !/^-?\d+$/.test(value)) return 'meter_event_invalid_value';
    if (value.replace(/^-?0*/, '').length > 15) return 'meter_event_value_too_many_digits';
    if (atMs > now() + 5 * 60_000) return 'timestamp_in_future';
    if (atMs < now() - 35 * DAY_MS) return 'timestamp_too_far_in_past';
    return null;
  };

  const take = ({ headers, text }: Question, held: Held[]): Reply => {
    const token = (headers.authorization ?? '').replace('Bearer ', '');
    if ((sessions.get(token) ?? 0) <= now()) return expired();
    const events = streamEvents(text);
    if (typeof events === 'string') return invalid(events);
    const report: Report = { id: `evt_${reports.length + 1}`, createdMs: now() + reportDelayMs, type: '', errors: [] };
    for (const event of events) {
      const code = fault(event);
      const { identifier, payload } = event;
      if (code !== null) {
        report.errors.push({ code, identifier, message: `The event was not taken: ${code}.` });
        refused.set(identifier, code);
      } else if (!memory.has(identifier, now())) {
        memory.add(identifier, now());
        const customer = payload.stripe_customer_id ?? '';
        held.push({
          id: identifier,
          customer,
          atMs: Date.parse(event.timestamp),
          value: payload.value ?? '',
          countedMs: now(),
        });
      }
    }
    if (report.errors.length > 0) reports.push({ ...report, type: reportType(report) });
    return { status: 200, body: {} };
  };

  const listReports = ({ query }: Question): Reply => {
    const types = [...query].filter(([key]) => key.startsWith('types')).map(([, value]) => value);
    const page = Number(query.get('page') ?? 0);
    const limit = Number(query.get('limit') ?? PAGE);
    const found = reports
      .filter(({ createdMs }) => createdMs <= now())
      .filter(({ createdMs }) => createdMs > now() - 30 * DAY_MS)
      .filter(({ type }) => types.length === 0 || types.includes(type))
      .reverse();
    const next = new URLSearchParams(query);
    next.set('page', String(page + 1));
    const data = found.slice(page * limit, (page + 1) * limit).map((report) => thinEvent(report, meter.id));
    const more = found.length > (page + 1) * limit;
    return {
      status: 200,
      body: { data, next_page_url: more ? `/v2/core/events?${next}` : null, previous_page_url: null },
    };
  };

  const oneReport = (id: string): Reply => {
    const report = reports.find((candidate) => candidate.id === id && candidate.createdMs <= now());
    if (report === undefined) return { status: 404, body: v2Error('not_found', `No event with ID ${id} found.`) };
    return { status: 200, body: { ...thinEvent(report, meter.id), data: reportData(report) } };
  };

  const summaries = ({ query }: Question, held: Held[]): Reply => {
    const from = Number(query.get('start_time'));
    const to = Number(query.get('end_time'));
    const customer = query.get('customer') ?? '';
    if (!customers.has(customer))
      return v1Refusal(400, `No such customer: '${customer}'`, { code: 'resource_missing', param: 'customer' });
    if (from % 60 !== 0 || to % 60 !== 0 || from >= to)
      return v1Refusal(400, 'Times must be aligned with minute boundaries.');
    const shown = held.filter(({ countedMs }) => countedMs + settleMs <= now());
    const any = shown.some(
      (event) => event.customer === customer && event.atMs >= from * 1000 && event.atMs < to * 1000,
    );
    const aggregated_value = Number(sumBetween(shown, customer, from * 1000, to * 1000));
    const object = 'billing.meter_event_summary';
    const summary = {
      id: 'mtrusg_1',
      object,
      aggregated_value,
      start_time: from,
      end_time: to,
      livemode: false,
      meter: meter.id,
    };
    return { status: 200, body: { object: 'list', url: '', has_more: false, data: any ? [summary] : [] } };
  };

  const answer = (question: Question, held: Held[]): Reply => {
    const { method, path, headers } = question;
    if (path.startsWith('/v2/') && headers['stripe-version'] === undefined)
      return invalid('Stripe-Version is required.');
    if (method === 'POST' && path === '/v2/billing/meter_event_stream') return take(question, held);
    if (method === 'POST' && path === '/v2/billing/meter_event_session') return openSession(sessions, now());
    if (method === 'GET' && path === '/v2/core/events') return listReports(question);
    if (method === 'GET' && path.startsWith('/v2/core/events/'))
      return oneReport(path.slice('/v2/core/events/'.length));
    if (method === 'GET' && path === `/v1/billing/meters/${meter.id}`) return { status: 200, body: meterOf(meter) };
    if (method === 'GET' && path === `/v1/billing/meters/${meter.id}/event_summaries`) return summaries(question, held);
    return v1Refusal(404, `Unrecognized request URL (${method}: ${path}).`);
  };

  const double = await startDouble(options, {
    token: ({ path }) => (path === '/v2/billing/meter_event_stream' ? null : apiKey),
    unauthorized: () => v1Refusal(401, 'Invalid API Key provided: sk_test_*****'),
    callsPerSecond: 10_000,
    tooMany: { status: 429, headers: { 'retry-after': '1' }, body: v2Error('rate_limit', 'Too many requests.') },
    answer,
  });
  return { ...double, refused, customers };
}

/** The events of a call; text: why none of them is taken. */
function streamEvents(text: string): StreamEvent[] | string {
  const { events } = JSON.parse(text) as { events?: StreamEvent[] };
  if (!Array.isArray(events) || events.length === 0) return 'events is required.';
  if (events.length > 100) return 'At most 100 events can be sent.';
  for (const { event_name, identifier, payload, timestamp } of events) {
    const strings = payload !== undefined && Object.values(payload).every((value) => typeof value === 'string');
    if (typeof event_name !== 'string' || !strings) return 'event_name and payload must be given, payload as strings.';
    if (typeof identifier !== 'string' || identifier.length > 100) return 'identifier has at most 100 characters.';
    if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) return 'timestamp must be RFC 3339.';
  }
  return events;
}

function openSession(sessions: Map<string, number>, nowMs: number): Reply {
  const token = `token_${sessions.size + 1}`;
  sessions.set(token, nowMs + SESSION_MS);
  const body = {
    id: `mes_${sessions.size}`,
    object: 'v2.billing.meter_event_session',
    authentication_token: token,
    created: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + SESSION_MS).toISOString(),
    livemode: false,
  };
  return { status: 200, body };
}

function reportType({ errors }: Report): string {
  const noMeter = errors.every(({ code }) => code === 'no_meter');
  return noMeter ? 'v1.billing.meter.no_meter_found' : 'v1.billing.meter.error_report_triggered';
}

function thinEvent({ id, createdMs, type }: Report, meterId: string): Record<string, unknown> {
  const related = { id: meterId, type: 'billing.meter', url: `/v1/billing/meters/${meterId}` };
  const created = new Date(createdMs).toISOString();
  return {
    id,
    object: 'v2.core.event',
    type,
    created,
    livemode: false,
    context: null,
    reason: null,
    related_object: related,
  };
}

function reportData({ createdMs, errors }: Report): Record<string, unknown> {
  const codes = [...new Set(errors.map(({ code }) => code))];
  const error_types = codes.map((code) => {
    const mine = errors.filter((error) => error.code === code);
    const sample_errors = mine
      .slice(0, SAMPLES)
      .map(({ identifier, message }) => ({ error_message: message, request: { identifier } }));
    return { code, error_count: mine.length, sample_errors };
  });
  return {
    developer_message_summary: `There are ${errors.length} invalid events`,
    reason: { error_count: errors.length, error_types },
    validation_start: new Date(createdMs - 10_000).toISOString(),
    validation_end: new Date(createdMs).toISOString(),
  };
}

function meterOf({ id, eventName, formula = 'sum', window }: StripeOptions['meter']): Record<string, unknown> {
  return {
    id,
    object: 'billing.meter',
    event_name: eventName,
    display_name: 'Credits',
    status: 'active',
    livemode: false,
    customer_mapping: { event_payload_key: 'stripe_customer_id', type: 'by_id' },
    default_aggregation: { formula },
    event_time_window: window ?? null,
    value_settings: { event_payload_key: 'value' },
  };
}

function expired(): Reply {
  const body = v2Error('billing_meter_event_session_expired', 'The temporary session token has expired.');
  return { status: 401, body: { error: { ...body.error, type: 'temporary_session_expired' } } };
}

function invalid(message: string): Reply {
  return { status: 400, body: v2Error('invalid_fields', message) };
}

function v2Error(code: string, message: string): { error: { code: string; message: string } } {
  return { error: { code, message } };
}

function v1Refusal(status: number, message: string, more: { code?: string; param?: string } = {}): Reply {
  return { status, body: { error: { type: 'invalid_request_error', message, ...more } } };
}
