import type { Measurements } from '../../../src/daemon/http/measurements.ts';
import type { WorkspaceLine } from '../../../src/freshness/workspace-status.ts';
import type { OutletStatus } from '../../../src/outlets/outlet-status.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import { NOON } from '../../support/time/test-clock.ts';

/** What a daemon has measured, each figure another one. */
const EVENTS = { events: 2, quantity: 5n };
export const OUTLET: OutletStatus = {
  name: 'billing',
  type: 'webhook',
  send: 'credits',
  state: 'sending',
  reason: null,
  fromPeriod: '2026-01',
  waiting: 7,
  events: { held: EVENTS, late: EVENTS, refused: EVENTS, settled: EVENTS },
  checkedAt: null,
  differences: null,
};

export const MEASURED: Measurements = {
  metricEvents: new MetricEvents(),
  nextAttempts: () => [{ workspaceId: 'ws-1', atMs: NOON + 30_000 }],
  reservedBytes: () => 65_536,
  storage: () => ({ ledgerBytes: 4096, logBytes: 512, diskFreeBytes: 65_536 }),
  head: () => ({ seq: 42, digest: `00000000ff${'c'.repeat(54)}` }),
  outlets: () => [OUTLET],
  exports: () => [{ name: 'usage-daily', failing: true, lastAtMs: NOON - 60_000 }],
  alerts: () => [{ rule: 'jump', state: 'firing', count: 4 }],
  outboxAgeSeconds: () => 90,
  queueAgesSeconds: async () => ({ sync: 12 }),
};

export function playMetricEvents(metricEvents: MetricEvents): void {
  for (const outcome of ['200', '200', 'timeout']) metricEvents.emit('attempt', 'ws-1', outcome, 0.25);
  for (const seconds of [0.25, 0.5]) metricEvents.emit('wait', 'ws-1', seconds);
  for (const outcome of ['delivered', 'retry', 'delivered']) metricEvents.emit('delivery', 'on-call', outcome);
}

export function lineOf(some: Partial<WorkspaceLine> = {}): WorkspaceLine {
  return {
    workspace_id: 'ws-1',
    name: 'Production',
    configured: true,
    state: 'fresh',
    last_complete_run_at: new Date(NOON - 60_000).toISOString(),
    last_attempt_at: new Date(NOON - 60_000).toISOString(),
    last_status: 'applied',
    covers_from: '2025-10',
    covers_to: '2026-03',
    last_run: null,
    open_alerts: 0,
    next_attempt_at: null,
    ...some,
  };
}

/** Nothing is made here. */
const REPORTS = { report: async () => null, stop: async () => undefined };
export const PAGES = {
  measured: MEASURED,
  reports: REPORTS,
  apiTokens: () => [],
  api: null,
  acknowledging: null,
  console: null,
};
