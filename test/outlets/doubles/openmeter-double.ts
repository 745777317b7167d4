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

// cspell:ignore afwakhe

/**
 * OpenMeter, as its documentation and its own source (github.com/openmeterio/openmeter at 7e57a394) say.
 *
 * - POST /api/v1/events: CloudEvents 1.0, one or a batch (`application/cloudevents-batch+json`), 204; 400 for the whole call
 *   when one event cannot be read (`openmeter/ingest/httpdriver/ingest.go`). There is no limit of events or bytes in the
 *   source, and no rate ("bounded only by the infrastructure you run").
 * - Events are handed on one by one, so that a 500 may leave the first ones taken (`openmeter/ingest/service.go`).
 * - Source and id are remembered for 32 days by default (docs/event-ingestion.md, `expiration: 768h` in
 *   config.example.yaml), and only where `dedupe` is switched on: its example configuration has it commented out.
 * - A value is a number or its text, as a float64, negative ones too (`openmeter/meter/parse.go`); what cannot be read is
 *   kept with a `validationError` and counted nowhere. There is no oldest or newest time.
 * - GET /api/v1/meters/SLUG and /query: sums by subject; several subjects need `groupBy=subject`
 *   (`openmeter/streaming/query_params.go`); no row for one without usage (api/openapi.yaml).
 *
 * Not found: rates of OpenMeter Cloud, its Retry-After (1 second here).
 */
export interface OpenMeterOptions extends DoubleOptions {
  apiKey: string;
  meter: { slug: string; eventType: string; property: string };
  /** False: it counts an event as often as it gets it. */
  dedupe?: boolean;
}

interface CloudEvent {
  id: string;
  source: string;
  specversion: string;
  type: string;
  subject: string;
  time?: string;
  data?: Record<string, unknown> | null;
}

interface Stored {
  event: CloudEvent;
  ingestedAt: string;
  storedAt: string;
  validationError?: string;
}

export interface OpenMeterDouble extends Double {
  /** What was taken and counts nowhere, by id. */
  invalid: Map<string, string>;
}

const DAY_MS = 86_400_000;
const CONTENT_TYPES: readonly (string | undefined)[] = [
  'application/json',
  'application/cloudevents+json',
  'application/cloudevents-batch+json',
];

export async function startOpenMeter(options: OpenMeterOptions): Promise<OpenMeterDouble> {
  const { now, meter, dedupe = true } = options;
  const memory = new Memory(32 * DAY_MS);
  const stored: Stored[] = [];
  const invalid = new Map<string, string>();

  const takeOne = (event: CloudEvent, held: Held[]): void => {
    const key = `${event.source} ${event.id}`;
    if (dedupe && memory.has(key, now())) return;
    memory.add(key, now());
    const at = new Date(now()).toISOString();
    const fault =
      event.type === meter.eventType ? valueFault(event.data?.[meter.property]) : `no meter for ${event.type}`;
    if (fault !== null) {
      stored.push({ event, ingestedAt: at, storedAt: at, validationError: fault });
      invalid.set(event.id, fault);
      return;
    }
    stored.push({ event, ingestedAt: at, storedAt: at });
    const atMs = event.time === undefined ? now() : Date.parse(event.time);
    const value = String(Number(event.data?.[meter.property]));
    held.push({ id: event.id, customer: event.subject, atMs, value, countedMs: now() });
  };

  const ingest = ({ headers, text }: Question, held: Held[], part: number): Reply => {
    if (!CONTENT_TYPES.includes(headers['content-type'])) return problem(400, `invalid content type`);
    const parsed = JSON.parse(text) as CloudEvent | CloudEvent[];
    const events = Array.isArray(parsed) ? parsed : [parsed];
    for (const event of events) {
      const fault = eventFault(event);
      if (fault !== null) return problem(400, `invalid event: ${fault}`);
    }
    for (const event of events.slice(0, Math.ceil(events.length * part))) takeOne(event, held);
    return { status: 204 };
  };

  const queryMeter = ({ query }: Question, held: Held[]): Reply => {
    const subjects = query.getAll('subject');
    const grouped = query.getAll('groupBy').includes('subject');
    const from = query.get('from');
    const to = query.get('to');
    if (subjects.length > 1 && !grouped) return problem(400, 'multiple subject filters need a subject group by');
    if (from === null || to === null || Date.parse(from) >= Date.parse(to))
      return problem(400, 'from must be before to');
    const inside = held.filter(({ atMs }) => atMs >= Date.parse(from) && atMs < Date.parse(to));
    const names = [...new Set(inside.map(({ customer }) => customer))];
    const wanted = names.filter((name) => subjects.length === 0 || subjects.includes(name));
    const rows = wanted.map((subject) => ({
      value: Number(sumBetween(held, subject, Date.parse(from), Date.parse(to))),
      windowStart: from,
      windowEnd: to,
      subject,
      groupBy: {},
    }));
    const total = rows.reduce((sum, { value }) => sum + value, 0);
    const one = { value: total, windowStart: from, windowEnd: to, subject: null, groupBy: {} };
    return { status: 200, body: { from, to, data: grouped || rows.length === 0 ? rows : [one] } };
  };

  const double = await startDouble(options, {
    token: () => options.apiKey,
    unauthorized: () => problem(401, 'Unauthorized'),
    callsPerSecond: Number.POSITIVE_INFINITY,
    tooMany: { status: 429, headers: { 'retry-after': '1' } },
    breakDown: (question, held) => {
      if (question.method === 'POST' && question.path === '/api/v1/events') ingest(question, held, 0.5);
    },
    answer(question, held) {
      const { method, path, query } = question;
      if (method === 'POST' && path === '/api/v1/events') return ingest(question, held, 1);
      if (method === 'GET' && path === '/api/v1/events') {
        const id = query.get('id') ?? '';
        return { status: 200, body: stored.filter(({ event }) => event.id.includes(id)).slice(-100) };
      }
      if (method === 'GET' && path === `/api/v1/meters/${meter.slug}`) return { status: 200, body: meterOf(meter) };
      if (method === 'GET' && path === `/api/v1/meters/${meter.slug}/query`) return queryMeter(question, held);
      return problem(404, 'Not Found');
    },
  });
  return { ...double, invalid };
}

function eventFault(event: CloudEvent): string | null {
  if (event.specversion !== '1.0') return 'specversion: no or an unknown version';
  for (const name of ['id', 'source', 'type'] as const) {
    if (typeof event[name] !== 'string' || event[name] === '') return `${name}: MUST be a non-empty string`;
  }
  if (event.time !== undefined && Number.isNaN(Date.parse(event.time))) return 'time: not RFC 3339';
  return null;
}

function valueFault(value: unknown): string | null {
  if (value === undefined || value === null) return 'missing value property';
  if (typeof value !== 'string' && typeof value !== 'number') return 'unsupported value property type';
  return value === '' || !Number.isFinite(Number(value)) ? `value cannot be parsed as float64: ${value}` : null;
}

function meterOf({ slug, eventType, property }: OpenMeterOptions['meter']): Record<string, unknown> {
  return {
    id: '01G65Z755AFWAKHE12NY0CQ9FH',
    slug,
    name: slug,
    aggregation: 'SUM',
    eventType,
    valueProperty: `$.${property}`,
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
  };
}

function problem(status: number, detail: string): Reply {
  const headers = { 'content-type': 'application/problem+json' };
  return { status, headers, body: { type: 'about:blank', title: detail, status, detail } };
}
