import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withTimeout } from '../../core/deadline.ts';
import type { MetricEvents } from '../../wiring/metric-events.ts';
import type { PublishHealth } from '../watches/publish-watch.ts';
import type { Measurements, RunCount } from './measurements.ts';
import type { HealthProbe } from './probe.ts';

/** How long Redis may take to answer. Prometheus aborts a scrape after 10 s by default. */
const METRICS_QUEUE_DEADLINE_MS = 2_000;

/**
 * Interval of the event loop monitor. The monitor is a timer, and its default of 10 ms would keep waking an idle
 * daemon.
 */
const EVENT_LOOP_SAMPLE_MS = 3_600_000;
/**
 * Statistics that mean nothing if samples are rare. `nodejs_eventloop_lag_seconds` stays, because each scrape measures
 * it.
 */
const EVENT_LOOP_STATISTICS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** Number of hex digits of the head's digest in its metric. They have 48 bits, which a double represents exactly. */
const HEAD_DIGITS = 12;

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** A metric. `name` has no prefix `usage_ledger_`. Each scrape replaces all samples of the metric. */
interface Family {
  name: string;
  help: string;
  kind?: 'counter';
  labels?: readonly string[];
  read(): Sample[] | Promise<Sample[]>;
}

/**
 * Creates a registry with the daemon's metrics, read from the probe at each scrape. While Redis is unavailable, the
 * queue gauges are absent. Create only one registry per process, because the collection of process metrics cannot be
 * stopped.
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
      help: 'Always 1; the label holds the running version.',
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
  // Collecting `runs_total`, which every scrape does first, reports the ended runs to this histogram.
  const runTook = new Histogram({
    name: 'usage_ledger_run_duration_seconds',
    help: 'Duration of ended runs, from claim to end.',
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
      const setSamples = (samples: readonly Sample[]): void => {
        this.reset();
        // `reset` leaves a sample of 0, which was not measured.
        if (samples.length === 0) this.remove({});
        for (const [of, value] of samples) this.inc({ ...of }, value);
      };
      const samples = read();
      return samples instanceof Promise ? samples.then(setSamples) : setSamples(samples);
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
      help: 'Ended runs in the ledger, by workspace and status.',
      ...ofRuns,
      read: () => runs(({ count }) => count),
    },
    {
      name: 'run_seconds_total',
      help: 'Total duration of ended runs.',
      ...ofRuns,
      read: () => runs(({ seconds }) => seconds),
    },
    {
      name: 'run_pages_total',
      help: 'Pages read by ended runs.',
      ...ofRuns,
      read: () => runs(({ pages }) => pages),
    },
    {
      name: 'run_records_total',
      help: 'Records read by ended runs.',
      ...ofRuns,
      read: () => runs(({ records }) => records),
    },
    {
      name: 'next_attempt_timestamp_seconds',
      help: 'Unix time of the next run of a workspace; absent for a retired one and while the service limits the rate.',
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
    'Request attempts to the service, by HTTP status or by error such as timeout or network.',
    ['workspace', 'status'],
  );
  const attemptTook = new Histogram({
    name: 'usage_ledger_http_attempt_seconds',
    help: 'Duration of request attempts to the service.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  metricEvents.on('attempt', (workspace, status, seconds) => {
    attempts.inc({ workspace, status });
    attemptTook.observe(seconds);
  });
  const waits = counter('rate_waits_total', 'Requests delayed by the request rate limit of a service host.', [
    'workspace',
  ]);
  const waited = counter('rate_wait_seconds_total', 'Total delay of requests by the request rate limit.', [
    'workspace',
  ]);
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
      help: 'Memory reserved for service responses in progress.',
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
      help: 'Free space on the disk of the ledger.',
      read: () => only(measured.storage().diskFreeBytes),
    },
    {
      name: 'chain_links',
      help: 'Links of the chain: runs, closes, reopens and moves.',
      read: () => only(measured.head().seq),
    },
    {
      name: 'chain_head',
      help: 'First 12 hex digits of the digest of the last chain link, as a number: stored metrics witness the chain.',
      read: () => only(Number.parseInt(measured.head().digest.slice(0, HEAD_DIGITS), 16)),
    },
  ];
}

function alertFamilies(probe: HealthProbe, measured: Measurements): Family[] {
  return [
    {
      name: 'alerts',
      help: 'Alerts with a cause that has not ended, by rule and state.',
      labels: ['rule', 'state'],
      read: () => measured.alerts().map(({ rule, state, count }) => [{ rule, state }, count]),
    },
    {
      name: 'alerts_open',
      help: 'Alerts with a cause that has not ended, by severity.',
      labels: ['severity'],
      read: () => probe.openAlerts().map(({ severity, count }) => [{ severity }, count]),
    },
    {
      name: 'outbox_notifications',
      help: 'Notifications waiting for delivery (pending), waiting for a daily summary (held), or given up (dead).',
      labels: ['state'],
      read: () => Object.entries(probe.outbox()).map(([state, count]) => [{ state }, count]),
    },
    {
      name: 'outbox_oldest_age_seconds',
      help: 'Age of the oldest notification to deliver; 0 if there is none.',
      read: () => only(measured.outboxAgeSeconds()),
    },
  ];
}

function queueFamilies(probe: HealthProbe, measured: Measurements): Family[] {
  return [
    {
      name: 'queue_oldest_age_seconds',
      help: 'Age of the oldest waiting job, by queue; absent while Redis is unavailable.',
      labels: ['queue'],
      async read() {
        const ages = await fromRedis(probe, () => measured.queueAgesSeconds());
        return Object.entries(ages).map(([queue, seconds]) => [{ queue }, seconds]);
      },
    },
    {
      name: 'queue_jobs',
      help: 'Jobs by queue and state; absent while Redis is unavailable.',
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
      help: '1 for a failing scheduled export, else 0.',
      labels: ['export'],
      read: () => measured.exports().map(({ name, failing }) => [{ export: name }, failing ? 1 : 0]),
    },
    {
      name: 'export_last_file_timestamp_seconds',
      help: 'Unix time of the last file of a scheduled export; absent before the first.',
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
      help: '1 for a sending outlet, 0 for one that is paused, not started, or started with other settings.',
      labels: ['outlet'],
      read: () => measured.outlets().map(({ name, state }) => [{ outlet: name }, state === 'sending' ? 1 : 0]),
    },
    {
      name: 'outlet_waiting_entries',
      help: 'Ledger entries that an outlet has not processed yet.',
      labels: ['outlet'],
      read: () => measured.outlets().map(({ name, waiting }) => [{ outlet: name }, waiting]),
    },
    {
      name: 'outlet_events',
      help: 'Events not accepted by the receiver: held, late, refused or settled.',
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

/**
 * Returns the metrics of publishing. They have no samples while the ledger is not published. They are always
 * registered, because a reload can start publishing.
 */
function publishFamilies({ publishing }: HealthProbe): Family[] {
  const families: [name: string, help: string, value: (health: PublishHealth) => number][] = [
    ['position', 'Last chain link in Postgres; 0 before the first connection.', ({ position }) => position ?? 0],
    ['lag_links', 'Chain links waiting to be published.', ({ lagLinks }) => lagLinks],
    ['lag_seconds', 'Age of the oldest chain link waiting to be published.', ({ lagSeconds }) => lagSeconds],
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

/** Returns an empty record if Redis does not answer, so that the other metrics are still served. */
async function fromRedis<T>(probe: HealthProbe, ask: () => Promise<Record<string, T>>): Promise<Record<string, T>> {
  if (!probe.redisUp()) return {};
  return withTimeout(ask(), METRICS_QUEUE_DEADLINE_MS).catch(() => ({}));
}
