import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withTimeout } from '../../core/deadline.ts';
import type { MetricEvents } from '../../wiring/metric-events.ts';
import type { PublishHealth } from '../publish-watch.ts';
import type { Measurements, RunCount } from './measurements.ts';
import type { HealthProbe } from './probe.ts';

/** Prometheus gives up on a scrape after 10 s by default. */
const QUEUE_DEADLINE_MS = 2_000;

/** An hour: the monitor of the event loop is a timer, and at its default of 10 ms it would wake an idle daemon. */
const EVENT_LOOP_SAMPLE_MS = 3_600_000;
/** What such a rare sample says nothing about. `nodejs_eventloop_lag_seconds` stays: it is measured by the scrape. */
const EVENT_LOOP_STATISTICS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** So many a double holds exactly. */
const HEAD_DIGITS = 12;

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A metric without `usage_ledger_` before its name; what is read at a scrape is all that it says. */
interface Family {
  name: string;
  help: string;
  kind?: 'counter';
  labels?: readonly string[];
  read(): Sample[] | Promise<Sample[]>;
}

/**
 * The metrics of the daemon in a registry of their own, read from the probe at each scrape. While Redis is away the
 * gauges of the queues are left out. The process's own metrics are watched until it ends: make one registry a process.
 */
export function createMetrics(probe: HealthProbe, measured: Measurements, version: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  for (const statistic of EVENT_LOOP_STATISTICS) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${statistic}_seconds`);
  }
  const registers = [registry];
  const families: Family[] = [
    {
      name: 'build_info',
      help: 'Always 1; the label says the version that runs.',
      labels: ['version'],
      read: () => [[{ version }, 1]],
    },
    ...runFamilies(probe, measured),
    ...ledgerFamilies(measured),
    ...alertFamilies(probe, measured),
    ...queueFamilies(probe, measured),
    ...publishFamilies(probe),
    ...outletFamilies(measured),
    ...exportFamilies(measured),
  ];
  for (const family of families) addFamily(family, registers);
  // Its runs are found when the counter of runs is read, which comes first in every scrape.
  const runTook = new Histogram({
    name: 'usage_ledger_run_duration_seconds',
    help: 'How long each of them took, from claim to end.',
    buckets: [1, 5, 15, 30, 60, 120, 300, 600, 1800],
    registers,
  });
  probe.onRun((seconds) => runTook.observe(seconds));
  countMetricEvents(measured.metricEvents, registers);
  return registry;
}

function addFamily({ name, help, kind, labels = [], read }: Family, registers: Registry[]): void {
  const Metric = kind === 'counter' ? Counter : Gauge;
  new Metric({
    name: `usage_ledger_${name}`,
    help,
    labelNames: [...labels],
    registers,
    collect() {
      const put = (samples: readonly Sample[]): void => {
        this.reset();
        // Where there is nothing to say, a 0 that nobody has measured would be a lie.
        if (samples.length === 0) this.remove({});
        for (const [of, value] of samples) this.inc({ ...of }, value);
      };
      const samples = read();
      return samples instanceof Promise ? samples.then(put) : put(samples);
    },
  });
}

function only(value: number): Sample[] {
  return [[{}, value]];
}

function runFamilies(probe: HealthProbe, measured: Measurements): Family[] {
  const runs = (value: (run: RunCount) => number): Sample[] =>
    probe.runs().map((run) => [{ workspace: run.workspaceId, status: run.status }, value(run)]);
  const ofRuns = { kind: 'counter', labels: ['workspace', 'status'] } as const;
  return [
    {
      name: 'last_complete_run_timestamp_seconds',
      help: 'Unix time at which the last complete run of a workspace ended; absent before the first.',
      labels: ['workspace'],
      read: () =>
        probe
          .freshness()
          .flatMap(({ workspaceId, lastCompleteRunAtMs: atMs }): Sample[] =>
            atMs === null ? [] : [[{ workspace: workspaceId }, atMs / 1000]],
          ),
    },
    {
      name: 'runs_total',
      help: 'Runs in the ledger that have ended, by workspace and status.',
      ...ofRuns,
      read: () => runs(({ count }) => count),
    },
    {
      name: 'run_seconds_total',
      help: 'How long the runs that have ended took.',
      ...ofRuns,
      read: () => runs(({ seconds }) => seconds),
    },
    {
      name: 'run_pages_total',
      help: 'Pages that they read.',
      ...ofRuns,
      read: () => runs(({ pages }) => pages),
    },
    {
      name: 'run_records_total',
      help: 'Records that they read.',
      ...ofRuns,
      read: () => runs(({ records }) => records),
    },
    {
      name: 'next_attempt_timestamp_seconds',
      help: 'Unix time at which a workspace is read next; absent where a refusal says when, or nobody reads it.',
      labels: ['workspace'],
      read: () => measured.nextAttempts().map(({ workspaceId, atMs }) => [{ workspace: workspaceId }, atMs / 1000]),
    },
    {
      name: 'stale',
      help: '1 for a workspace without a complete run for longer than its cron allows, else 0.',
      labels: ['workspace'],
      read: () => probe.freshness().map(({ workspaceId, stale }) => [{ workspace: workspaceId }, stale ? 1 : 0]),
    },
  ];
}

function countMetricEvents(metricEvents: MetricEvents, registers: Registry[]): void {
  const counter = (name: string, help: string, labelNames: string[]): Counter =>
    new Counter({ name: `usage_ledger_${name}`, help, labelNames, registers });
  const attempts = counter(
    'http_attempts_total',
    'Attempts of requests to the service, by status, or by a word such as timeout or network.',
    ['workspace', 'status'],
  );
  const attemptTook = new Histogram({
    name: 'usage_ledger_http_attempt_seconds',
    help: 'How long attempts of requests to the service took.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  metricEvents.on('attempt', (workspace, status, seconds) => {
    attempts.inc({ workspace, status });
    attemptTook.observe(seconds);
  });
  const waits = counter(
    'rate_waits_total',
    'Requests that had to wait for their turn of the request rate of a host name of the service.',
    ['workspace'],
  );
  const waited = counter('rate_wait_seconds_total', 'How long they waited.', ['workspace']);
  metricEvents.on('wait', (workspace, seconds) => {
    waits.inc({ workspace });
    waited.inc({ workspace }, seconds);
  });
  const deliveries = counter(
    'deliveries_total',
    'Attempts to deliver notifications, by channel and outcome: delivered, retry, rejected, disabled or cancelled.',
    ['channel', 'outcome'],
  );
  metricEvents.on('delivery', (channel, outcome) => deliveries.inc({ channel, outcome }));
}

function ledgerFamilies(measured: Measurements): Family[] {
  return [
    {
      name: 'reserved_bytes',
      help: 'What the answers of the service that are under way may take in memory.',
      read: () => only(measured.reservedBytes()),
    },
    {
      name: 'storage_bytes',
      help: 'Size of the ledger and of its write-ahead log.',
      labels: ['file'],
      read() {
        const { ledgerBytes, logBytes } = measured.storage();
        return [
          [{ file: 'ledger' }, ledgerBytes],
          [{ file: 'wal' }, logBytes],
        ];
      },
    },
    {
      name: 'disk_free_bytes',
      help: 'Room that is left on the disk of the ledger.',
      read: () => only(measured.storage().diskFreeBytes),
    },
    {
      name: 'chain_links',
      help: 'Links of the chain: runs, closes, reopens and moves.',
      read: () => only(measured.head().seq),
    },
    {
      name: 'chain_head',
      help: 'The first 12 hex digits of the digest of the last link, as a number: whoever stores metrics is a witness of it.',
      read: () => only(Number.parseInt(measured.head().digest.slice(0, HEAD_DIGITS), 16)),
    },
  ];
}

function alertFamilies(probe: HealthProbe, measured: Measurements): Family[] {
  return [
    {
      name: 'alerts',
      help: 'Alerts whose cause has not ended, by rule and state.',
      labels: ['rule', 'state'],
      read: () => measured.alerts().map(({ rule, state, count }) => [{ rule, state }, count]),
    },
    {
      name: 'alerts_open',
      help: 'Alerts whose cause has not ended, by severity.',
      labels: ['severity'],
      read: () => probe.openAlerts().map(({ severity, count }) => [{ severity }, count]),
    },
    {
      name: 'outbox_notifications',
      help: 'Notifications that wait for delivery (pending), for a daily summary (held), or were given up (dead).',
      labels: ['state'],
      read: () => Object.entries(probe.outbox()).map(([state, count]) => [{ state }, count]),
    },
    {
      name: 'outbox_oldest_age_seconds',
      help: 'Age of the oldest notification that is to be delivered; 0 without one.',
      read: () => only(measured.outboxAgeSeconds()),
    },
  ];
}

function queueFamilies(probe: HealthProbe, measured: Measurements): Family[] {
  return [
    {
      name: 'queue_oldest_age_seconds',
      help: 'Age of the oldest job that waits, by queue; absent while Redis is away.',
      labels: ['queue'],
      async read() {
        const ages = await fromRedis(probe, () => measured.queueAgesSeconds());
        return Object.entries(ages).map(([queue, seconds]) => [{ queue }, seconds]);
      },
    },
    {
      name: 'queue_jobs',
      help: 'Jobs by queue and state; absent while Redis is away.',
      labels: ['queue', 'state'],
      async read() {
        const queues = await fromRedis(probe, () => probe.queueCounts());
        return Object.entries(queues).flatMap(([queue, counts]) =>
          Object.entries(counts).map(([state, count]): Sample => [{ queue, state }, count]),
        );
      },
    },
  ];
}

function exportFamilies(measured: Measurements): Family[] {
  return [
    {
      name: 'export_failing',
      help: '1 for a scheduled export that fails, else 0.',
      labels: ['export'],
      read: () => measured.exports().map(({ name, failing }) => [{ export: name }, failing ? 1 : 0]),
    },
    {
      name: 'export_last_file_timestamp_seconds',
      help: 'Unix time at which the last file of a scheduled export was written; absent before the first.',
      labels: ['export'],
      read: () =>
        measured
          .exports()
          .flatMap(({ name, lastAtMs }): Sample[] => (lastAtMs === null ? [] : [[{ export: name }, lastAtMs / 1000]])),
    },
  ];
}

function outletFamilies(measured: Measurements): Family[] {
  return [
    {
      name: 'outlet_sending',
      help: '1 for an outlet that sends, 0 for one that is paused, was not begun, or was begun otherwise.',
      labels: ['outlet'],
      read: () => measured.outlets().map(({ name, state }) => [{ outlet: name }, state === 'sending' ? 1 : 0]),
    },
    {
      name: 'outlet_waiting_entries',
      help: 'Entries of the ledger that an outlet has not looked at yet.',
      labels: ['outlet'],
      read: () => measured.outlets().map(({ name, waiting }) => [{ outlet: name }, waiting]),
    },
    {
      name: 'outlet_events',
      help: 'Events that its receiver does not have: held, late, refused or settled.',
      labels: ['outlet', 'state'],
      read: () =>
        measured
          .outlets()
          .flatMap(({ name, events }) =>
            Object.entries(events).map(([state, { events: number }]): Sample => [{ outlet: name, state }, number]),
          ),
    },
  ];
}

/** Empty where the ledger is not published; a reload can begin that. */
function publishFamilies({ publishing }: HealthProbe): Family[] {
  const families: [name: string, help: string, value: (health: PublishHealth) => number][] = [
    ['position', 'Link of the chain that Postgres holds; 0 before its first answer.', ({ position }) => position ?? 0],
    ['lag_links', 'Links of the chain that wait to be published.', ({ lagLinks }) => lagLinks],
    ['lag_seconds', 'How long the first of them has waited.', ({ lagSeconds }) => lagSeconds],
    ['fault', '1 while publishing fails, else 0.', ({ fault }) => (fault === null ? 0 : 1)],
  ];
  return families.map(([name, help, value]) => ({
    name: `publish_${name}`,
    help,
    read() {
      const health = publishing();
      return health === null ? [] : only(value(health));
    },
  }));
}

/** No queues when Redis does not answer: its absence must not take the other metrics with it. */
async function fromRedis<T>(probe: HealthProbe, ask: () => Promise<Record<string, T>>): Promise<Record<string, T>> {
  if (!probe.redisUp()) return {};
  return withTimeout(ask(), QUEUE_DEADLINE_MS).catch(() => ({}));
}
