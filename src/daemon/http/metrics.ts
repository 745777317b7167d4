import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { within } from '../../queue/deadline.ts';
import type { HealthProbe } from './probe.ts';

/** Prometheus gives up on a scrape after 10 s by default. */
const QUEUE_DEADLINE_MS = 2_000;

/** An hour: the monitor of the event loop is a timer, and at its default of 10 ms it would wake an idle daemon. */
const EVENT_LOOP_SAMPLE_MS = 3_600_000;
/** What such a rare sample says nothing about. `nodejs_eventloop_lag_seconds` stays: it is measured by the scrape. */
const EVENT_LOOP_STATISTICS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/**
 * The metrics of the daemon in a registry of their own, read from the probe at each scrape. While Redis is away the
 * gauges of the queues are left out. The process's own metrics are watched until it ends: make one registry a process.
 */
export function createMetrics(probe: HealthProbe, version: string): Registry {
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
  new Gauge({
    name: 'usage_ledger_last_complete_run_timestamp_seconds',
    help: 'Unix time at which the last complete run of a workspace ended; 0 when there was none.',
    labelNames: ['workspace'],
    registers,
    collect() {
      for (const { workspaceId, lastCompleteRunAtMs } of probe.freshness()) {
        this.set({ workspace: workspaceId }, (lastCompleteRunAtMs ?? 0) / 1000);
      }
    },
  });
  new Counter({
    name: 'usage_ledger_runs_total',
    help: 'Runs in the ledger that have ended, by workspace and status.',
    labelNames: ['workspace', 'status'],
    registers,
    collect() {
      const runs = probe.runs();
      this.reset();
      for (const { workspaceId, status, count } of runs) this.inc({ workspace: workspaceId, status }, count);
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
    help: 'Notifications that wait for delivery (pending), for a digest (held), or were given up (dead).',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(probe.outbox())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'usage_ledger_queue_jobs',
    help: 'Jobs by queue and state; absent while Redis is away.',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      const queues = await queueCounts(probe);
      this.reset();
      for (const [queue, counts] of Object.entries(queues)) {
        for (const [state, count] of Object.entries(counts)) this.set({ queue, state }, count);
      }
    },
  });
  return registry;
}

/** No queues when Redis does not answer: its absence must not take the other metrics with it. */
async function queueCounts(probe: HealthProbe): ReturnType<HealthProbe['queueCounts']> {
  if (!probe.redisUp()) return {};
  return within(probe.queueCounts(), QUEUE_DEADLINE_MS).catch(() => ({}));
}
