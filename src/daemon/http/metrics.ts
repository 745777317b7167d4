import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { within } from '../../core/deadline.ts';
import type { ReplicaHealth } from '../replica/replica-watch.ts';
import type { Measurements } from './measurements.ts';
import type { HealthProbe } from './probe.ts';

/** Prometheus gives up on a scrape after 10 s by default. */
const QUEUE_DEADLINE_MS = 2_000;

/** An hour: the monitor of the event loop is a timer, and at its default of 10 ms it would wake an idle daemon. */
const EVENT_LOOP_SAMPLE_MS = 3_600_000;
/** What such a rare sample says nothing about. `nodejs_eventloop_lag_seconds` stays: it is measured by the scrape. */
const EVENT_LOOP_STATISTICS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** So many a double holds exactly. */
const HEAD_DIGITS = 12;

const RUN_SUMS = [
  { name: 'usage_ledger_run_seconds_total', help: 'How long the runs that have ended took.', key: 'seconds' },
  { name: 'usage_ledger_run_pages_total', help: 'Pages that they read.', key: 'pages' },
  { name: 'usage_ledger_run_records_total', help: 'Records that they read.', key: 'records' },
] as const;

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
  new Gauge({
    name: 'usage_ledger_build_info',
    help: 'Always 1; the label says the version that runs.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  addRunMetrics(probe, measured, registers);
  addTrafficMetrics(measured, registers);
  addLedgerGauges(measured, registers);
  addAlertGauges(probe, measured, registers);
  addDeliveryCounter(measured, registers);
  addQueueGauges(probe, measured, registers);
  addReplicaGauges(probe, registers);
  addExportGauges(measured, registers);
  return registry;
}

/** How fresh each workspace is, and what its runs have done. */
function addRunMetrics(probe: HealthProbe, measured: Measurements, registers: Registry[]): void {
  new Gauge({
    name: 'usage_ledger_last_complete_run_timestamp_seconds',
    help: 'Unix time at which the last complete run of a workspace ended; absent before the first.',
    labelNames: ['workspace'],
    registers,
    collect() {
      for (const { workspaceId, lastCompleteRunAtMs } of probe.freshness()) {
        if (lastCompleteRunAtMs !== null) this.set({ workspace: workspaceId }, lastCompleteRunAtMs / 1000);
      }
    },
  });
  const sums: { key: (typeof RUN_SUMS)[number]['key']; counter: Counter }[] = [];
  new Counter({
    name: 'usage_ledger_runs_total',
    help: 'Runs in the ledger that have ended, by workspace and status.',
    labelNames: ['workspace', 'status'],
    registers,
    collect() {
      const runs = probe.runs();
      for (const counter of [this, ...sums.map((sum) => sum.counter)]) counter.reset();
      for (const run of runs) {
        const labels = { workspace: run.workspaceId, status: run.status };
        this.inc(labels, run.count);
        for (const { key, counter } of sums) counter.inc(labels, run[key]);
      }
    },
  });
  // These and the histogram are filled by the counter above, which comes first in every scrape.
  for (const { name, help, key } of RUN_SUMS) {
    sums.push({ key, counter: new Counter({ name, help, labelNames: ['workspace', 'status'], registers }) });
  }
  const took = new Histogram({
    name: 'usage_ledger_run_duration_seconds',
    help: 'How long each of them took, from claim to end.',
    buckets: [1, 5, 15, 30, 60, 120, 300, 600, 1800],
    registers,
  });
  probe.onRun((seconds) => took.observe(seconds));
  new Gauge({
    name: 'usage_ledger_next_attempt_timestamp_seconds',
    help: 'Unix time at which a workspace is read next; absent where a refusal says when, or nobody reads it.',
    labelNames: ['workspace'],
    registers,
    collect() {
      this.reset();
      for (const { workspaceId, atMs } of measured.nextAttempts()) this.set({ workspace: workspaceId }, atMs / 1000);
    },
  });
  new Gauge({
    name: 'usage_ledger_stale',
    help: '1 for a workspace without a complete run for longer than its cron allows, else 0.',
    labelNames: ['workspace'],
    registers,
    collect() {
      for (const { workspaceId, stale } of probe.freshness()) this.set({ workspace: workspaceId }, stale ? 1 : 0);
    },
  });
}

/** What was asked of the service. */
function addTrafficMetrics(measured: Measurements, registers: Registry[]): void {
  new Counter({
    name: 'usage_ledger_http_attempts_total',
    help: 'Attempts of requests to the service, by status, or by a word such as timeout or network.',
    labelNames: ['workspace', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { workspaceId, outcome, count } of measured.attempts()) {
        this.inc({ workspace: workspaceId, status: outcome }, count);
      }
    },
  });
  const took = new Histogram({
    name: 'usage_ledger_http_attempt_seconds',
    help: 'How long attempts of requests to the service took.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  measured.onAttempt((seconds) => took.observe(seconds));
  new Counter({
    name: 'usage_ledger_rate_waits_total',
    help: 'Requests that had to wait for their turn of the request rate of a host name of the service.',
    labelNames: ['workspace'],
    registers,
    collect() {
      this.reset();
      for (const { workspaceId, count } of measured.waits()) this.inc({ workspace: workspaceId }, count);
    },
  });
  new Counter({
    name: 'usage_ledger_rate_wait_seconds_total',
    help: 'How long they waited.',
    labelNames: ['workspace'],
    registers,
    collect() {
      this.reset();
      for (const { workspaceId, seconds } of measured.waits()) this.inc({ workspace: workspaceId }, seconds);
    },
  });
  new Gauge({
    name: 'usage_ledger_reserved_bytes',
    help: 'What the answers of the service that are under way may take in memory.',
    registers,
    collect() {
      this.set(measured.reservedBytes());
    },
  });
}

/** The ledger's file, and the head of its chain. */
function addLedgerGauges(measured: Measurements, registers: Registry[]): void {
  new Gauge({
    name: 'usage_ledger_storage_bytes',
    help: 'Size of the ledger and of its write-ahead log.',
    labelNames: ['file'],
    registers,
    collect() {
      const { ledgerBytes, logBytes } = measured.storage();
      this.set({ file: 'ledger' }, ledgerBytes);
      this.set({ file: 'wal' }, logBytes);
    },
  });
  new Gauge({
    name: 'usage_ledger_disk_free_bytes',
    help: 'Room that is left on the disk of the ledger.',
    registers,
    collect() {
      this.set(measured.storage().diskFreeBytes);
    },
  });
  new Gauge({
    name: 'usage_ledger_chain_links',
    help: 'Links of the chain: runs, closes, reopens and moves.',
    registers,
    collect() {
      this.set(measured.head().seq);
    },
  });
  new Gauge({
    name: 'usage_ledger_chain_head',
    help: 'The first 12 hex digits of the digest of the last link, as a number: whoever stores metrics is a witness of it.',
    registers,
    collect() {
      this.set(Number.parseInt(measured.head().digest.slice(0, HEAD_DIGITS), 16));
    },
  });
}

/** Alerts, and the notifications of them. */
function addAlertGauges(probe: HealthProbe, measured: Measurements, registers: Registry[]): void {
  new Gauge({
    name: 'usage_ledger_alerts',
    help: 'Alerts whose cause has not ended, by rule and state.',
    labelNames: ['rule', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { rule, state, count } of measured.alerts()) this.inc({ rule, state }, count);
    },
  });
  new Gauge({
    name: 'usage_ledger_alerts_open',
    help: 'Alerts whose cause has not ended, by severity.',
    labelNames: ['severity'],
    registers,
    collect() {
      for (const { severity, count } of probe.openAlerts()) this.set({ severity }, count);
    },
  });
  new Gauge({
    name: 'usage_ledger_outbox_notifications',
    help: 'Notifications that wait for delivery (pending), for a daily summary (held), or were given up (dead).',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(probe.outbox())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'usage_ledger_outbox_oldest_age_seconds',
    help: 'Age of the oldest notification that is to be delivered; 0 without one.',
    registers,
    collect() {
      this.set(measured.outboxAgeSeconds());
    },
  });
}

/** What was handed to each channel. */
function addDeliveryCounter(measured: Measurements, registers: Registry[]): void {
  new Counter({
    name: 'usage_ledger_deliveries_total',
    help: 'Attempts to deliver notifications, by channel and outcome: delivered, retry, rejected, disabled or cancelled.',
    labelNames: ['channel', 'outcome'],
    registers,
    collect() {
      this.reset();
      for (const { channel, outcome, count } of measured.deliveries()) this.inc({ channel, outcome }, count);
    },
  });
}

/** The queue of syncs; without values while Redis is away. */
function addQueueGauges(probe: HealthProbe, measured: Measurements, registers: Registry[]): void {
  new Gauge({
    name: 'usage_ledger_queue_oldest_age_seconds',
    help: 'Age of the oldest job that waits, by queue; absent while Redis is away.',
    labelNames: ['queue'],
    registers,
    async collect() {
      const ages = await fromRedis(probe, () => measured.queueAgesSeconds());
      this.reset();
      for (const [queue, seconds] of Object.entries(ages)) this.set({ queue }, seconds);
    },
  });
  new Gauge({
    name: 'usage_ledger_queue_jobs',
    help: 'Jobs by queue and state; absent while Redis is away.',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      const queues = await fromRedis(probe, () => probe.queueCounts());
      this.reset();
      for (const [queue, counts] of Object.entries(queues)) {
        for (const [state, count] of Object.entries(counts)) this.set({ queue, state }, count);
      }
    },
  });
}

/** Without exports in the configuration they have no values. */
function addExportGauges(measured: Measurements, registers: Registry[]): void {
  const gauges: [
    name: string,
    help: string,
    value: (of: ReturnType<Measurements['exports']>[number]) => number | null,
  ][] = [
    ['failing', '1 for a scheduled export that fails, else 0.', ({ failing }) => (failing ? 1 : 0)],
    [
      'last_file_timestamp_seconds',
      'Unix time at which the last file of a scheduled export was written; absent before the first.',
      ({ lastAtMs }) => lastAtMs && lastAtMs / 1000,
    ],
  ];
  for (const [name, help, value] of gauges) {
    new Gauge({
      name: `usage_ledger_export_${name}`,
      help,
      labelNames: ['export'],
      registers,
      collect() {
        this.reset();
        for (const of of measured.exports()) {
          const found = value(of);
          if (found !== null) this.set({ export: of.name }, found);
        }
      },
    });
  }
}

/** Only where there is a replica: a lag of 0 that nobody measures would be a lie. */
function addReplicaGauges(probe: HealthProbe, registers: Registry[]): void {
  const { replica } = probe;
  if (replica === undefined) return;
  const gauges: [name: string, help: string, value: (health: ReplicaHealth) => number][] = [
    [
      'position',
      'Link of the chain that the replica holds; 0 before its first answer.',
      ({ position }) => position ?? 0,
    ],
    ['lag_links', 'Links of the chain that wait to be published.', ({ lagLinks }) => lagLinks],
    ['lag_seconds', 'How long the first of them has waited.', ({ lagSeconds }) => lagSeconds],
    ['fault', '1 while publishing fails, else 0.', ({ fault }) => (fault === null ? 0 : 1)],
    ['fenced', '1 when another copy of the ledger has taken its place, else 0.', ({ fenced }) => (fenced ? 1 : 0)],
  ];
  for (const [name, help, value] of gauges) {
    new Gauge({
      name: `usage_ledger_replica_${name}`,
      help,
      registers,
      collect() {
        this.set(value(replica()));
      },
    });
  }
}

/** No queues when Redis does not answer: its absence must not take the other metrics with it. */
async function fromRedis<T>(probe: HealthProbe, ask: () => Promise<Record<string, T>>): Promise<Record<string, T>> {
  if (!probe.redisUp()) return {};
  return within(ask(), QUEUE_DEADLINE_MS).catch(() => ({}));
}
