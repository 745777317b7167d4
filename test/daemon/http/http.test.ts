import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import { openBullmqQueue } from '../../../src/queue/bullmq-queue.ts';
import { startPrivateRedis } from '../../../src/queue/redis/private-redis.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { MEASURED, playMetricEvents } from './measured.ts';
import { ask, bearer, COUNTS, logger, probeOf, serve, TOKEN } from './served.ts';

test('/healthz returns the version and uptime of the process', async () => {
  const { status, body } = await ask(await serve(), '/healthz');
  expect(status).toBe(200);
  expect(JSON.parse(body)).toEqual({ status: 'ok', version: '1.2.3', uptime_seconds: expect.any(Number) });
});

test('a daemon without faults is ready', async () => {
  const { status, body } = await ask(await serve(), '/readyz');
  expect([status, JSON.parse(body)]).toEqual([200, { status: 'ready' }]);
});

test('/readyz lists all reasons: stale workspaces, an unavailable Redis, an unwritable ledger', async () => {
  const probe = probeOf({
    redisUp: () => false,
    redisFault: () => null,
    writeFault: () => 'the disk is full',
    freshness: () => [
      { workspaceId: 'ws-1', lastCompleteRunAtMs: NOON, staleAfterMs: 31 * 60_000, stale: true },
      { workspaceId: 'ws-2', lastCompleteRunAtMs: NOON, staleAfterMs: 31 * 60_000, stale: false },
      { workspaceId: 'ws-3', lastCompleteRunAtMs: null, staleAfterMs: 31 * 60_000, stale: true },
    ],
  });
  const { status, body } = await ask(await serve({ probe }), '/readyz');
  expect(status).toBe(503);
  expect(JSON.parse(body)).toEqual({
    status: 'not_ready',
    reasons: [
      {
        code: 'workspace_stale',
        workspace_id: 'ws-1',
        message:
          'workspace "ws-1": no complete run for more than 31 minutes, the last one was at 2026-03-20T12:00:00.000Z',
      },
      {
        code: 'workspace_stale',
        workspace_id: 'ws-3',
        message: 'workspace "ws-3": no complete run for more than 31 minutes, there was none',
      },
      { code: 'redis_unavailable', message: 'Redis is not available' },
      { code: 'ledger_unwritable', message: 'cannot write the ledger: the disk is full' },
    ],
  });
});

test('an unreadable ledger makes the daemon not ready without breaking the page', async () => {
  const freshness = (): never => {
    throw new Error('database disk image is malformed');
  };
  const { status, body } = await ask(await serve({ probe: probeOf({ freshness }) }), '/readyz');
  expect(status).toBe(503);
  expect(JSON.parse(body).reasons).toEqual([
    { code: 'ledger_unreadable', message: 'cannot read the ledger: database disk image is malformed' },
  ]);
});

test('/metrics serves ledger, queue and process metrics in the Prometheus text format', async () => {
  const metricEvents = new MetricEvents();
  const server = await serve({ measured: { ...MEASURED, metricEvents } });
  playMetricEvents(metricEvents);
  const { status, headers, body } = await ask(server, '/metrics');
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = body.split('\n').filter((line) => line.startsWith('usage_ledger_'));
  expect(lines).toEqual([
    'usage_ledger_build_info{version="1.2.3"} 1',
    `usage_ledger_last_complete_run_timestamp_seconds{workspace="ws-1"} ${NOON / 1000}`,
    'usage_ledger_runs_total{workspace="ws-1",status="applied"} 10',
    'usage_ledger_run_seconds_total{workspace="ws-1",status="applied"} 2.5',
    'usage_ledger_run_pages_total{workspace="ws-1",status="applied"} 30',
    'usage_ledger_run_records_total{workspace="ws-1",status="applied"} 40',
    `usage_ledger_next_attempt_timestamp_seconds{workspace="ws-1"} ${NOON / 1000 + 30}`,
    'usage_ledger_stale{workspace="ws-1"} 0',
    'usage_ledger_reserved_bytes 65536',
    'usage_ledger_storage_bytes{file="ledger"} 4096',
    'usage_ledger_storage_bytes{file="wal"} 512',
    'usage_ledger_disk_free_bytes 65536',
    'usage_ledger_chain_links 42',
    `usage_ledger_chain_head ${0xffcc}`,
    'usage_ledger_alerts{rule="jump",state="firing"} 4',
    'usage_ledger_alerts_open{severity="critical"} 7',
    ...['pending"} 8', 'held"} 7', 'dead"} 9'].map((end) => `usage_ledger_outbox_notifications{state="${end}`),
    'usage_ledger_outbox_oldest_age_seconds 90',
    'usage_ledger_queue_oldest_age_seconds{queue="sync"} 12',
    ...['waiting', 'active', 'delayed', 'completed', 'failed'].map(
      (state, at) => `usage_ledger_queue_jobs{queue="sync",state="${state}"} ${at + 1}`,
    ),
    'usage_ledger_outlet_sending{outlet="billing"} 1',
    'usage_ledger_outlet_waiting_entries{outlet="billing"} 7',
    'usage_ledger_outlet_events{outlet="billing",state="held"} 2',
    'usage_ledger_outlet_events{outlet="billing",state="late"} 2',
    'usage_ledger_outlet_events{outlet="billing",state="refused"} 2',
    'usage_ledger_outlet_events{outlet="billing",state="settled"} 2',
    'usage_ledger_export_failing{export="usage-daily"} 1',
    `usage_ledger_export_last_file_timestamp_seconds{export="usage-daily"} ${NOON / 1000 - 60}`,
    'usage_ledger_run_duration_seconds_bucket{le="1"} 0',
    ...[5, 15, 30, 60, 120, 300, 600, 1800, '+Inf'].map(
      (most) => `usage_ledger_run_duration_seconds_bucket{le="${most}"} 1`,
    ),
    ...['sum 2.5', 'count 1'].map((end) => `usage_ledger_run_duration_seconds_${end}`),
    ...['"200"} 2', '"timeout"} 1'].map((end) => `usage_ledger_http_attempts_total{workspace="ws-1",status=${end}`),
    ...[0.025, 0.05, 0.1].map((most) => `usage_ledger_http_attempt_seconds_bucket{le="${most}"} 0`),
    ...[0.25, 0.5, 1, 2.5, 5, 10, 30, '+Inf'].map((most) => `usage_ledger_http_attempt_seconds_bucket{le="${most}"} 3`),
    ...['sum 0.75', 'count 3'].map((end) => `usage_ledger_http_attempt_seconds_${end}`),
    'usage_ledger_rate_waits_total{workspace="ws-1"} 2',
    'usage_ledger_rate_wait_seconds_total{workspace="ws-1"} 0.75',
    ...['delivered"} 2', 'retry"} 1'].map((end) => `usage_ledger_deliveries_total{channel="on-call",outcome="${end}`),
  ]);
  expect(body).toMatch(/^process_resident_memory_bytes \d+$[\s\S]*^nodejs_eventloop_lag_seconds \S+$/m);
  expect(body).not.toMatch(/nodejs_eventloop_lag_p99/);
});

test('each scrape reads current values, and a workspace without a complete run has no timestamp', async () => {
  let count = 1;
  const probe = probeOf({
    runs: () => [{ workspaceId: 'ws-1', status: 'failed', count, seconds: 0, pages: 0, records: 0 }],
    freshness: () => [{ workspaceId: 'ws-1', lastCompleteRunAtMs: null, staleAfterMs: 1, stale: false }],
  });
  const server = await serve({ probe });
  await ask(server, '/metrics');
  count = 2;
  const { body } = await ask(server, '/metrics');
  expect(body).toContain('usage_ledger_runs_total{workspace="ws-1",status="failed"} 2\n');
  expect(body).not.toContain('usage_ledger_last_complete_run_timestamp_seconds{');
});

test('without Redis only the queue metrics are missing, including those of an earlier scrape', async () => {
  let up = true;
  let answers = true;
  const probe = probeOf({
    redisUp: () => up,
    redisFault: () => null,
    queueCounts: async () => {
      if (!answers) throw new Error('the connection was lost');
      return { sync: COUNTS };
    },
  });
  const server = await serve({ probe });
  expect((await ask(server, '/metrics')).body).toContain('usage_ledger_queue_jobs{');
  answers = false;
  const unanswered = await ask(server, '/metrics');
  up = false;
  answers = true;
  const away = await ask(server, '/metrics');
  for (const { status, body } of [unanswered, away]) {
    expect(status).toBe(200);
    expect(body).not.toContain('usage_ledger_queue_jobs{');
    expect(body).toContain('usage_ledger_outbox_notifications{state="pending"} 8\n');
  }
});

test('a failing page shows no details and logs them', async () => {
  const lines: string[] = [];
  const recording = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  const outbox = (): never => {
    throw new Error('a detail for the log');
  };
  const server = await serve({ probe: probeOf({ outbox }), logger: recording });
  const { status, body } = await ask(server, '/metrics?of=anybody', { headers: bearer(TOKEN) });
  expect([status, body]).toEqual([500, '{"error":"internal"}']);
  await server.close();
  const log = lines.map((line) => JSON.parse(line));
  expect(log.find(({ level }) => level === 'error')).toMatchObject({
    msg: 'http page failed',
    path: '/metrics',
    reason: 'a detail for the log',
  });
  expect(log.find(({ level }) => level === 'debug')).toMatchObject({ method: 'GET', path: '/metrics', status: 500 });
  expect(lines.join('')).not.toContain(TOKEN);
});

test('a port in use is an error with a remedy', async () => {
  const server = await serve();
  const port = Number(new URL(server.url).port);
  const error = await rejection(serve({ port }));
  expect(error).toMatchObject({ code: 'http_port', retryable: false });
  expect(error.message).toBe(`cannot listen on 127.0.0.1, port ${port}: the port is in use`);
  expect(error.hint).toContain('http.port: 0');
});

test('closing does not wait for kept connections, partial requests or hanging responses', async () => {
  let asked: () => void = () => undefined;
  const hanging = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const queueCounts = (): Promise<never> => {
    asked();
    return new Promise(() => undefined);
  };
  const server = await serve({ probe: probeOf({ queueCounts }) });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  await ask(server, '/healthz', { agent });
  const half = connect(Number(new URL(server.url).port), '127.0.0.1');
  half.on('error', () => undefined).write('GET /healthz HTTP/1.1\r\n');
  const halfClosed = once(half, 'close');
  const unanswered = ask(server, '/metrics').catch((error: Error) => error);
  await hanging;

  const began = performance.now();
  await Promise.all([server.close(), server.close()]);
  expect(performance.now() - began).toBeLessThan(20_000);
  await halfClosed;
  expect(await unanswered).toBeInstanceOf(Error);
  expect(await rejection(ask(server, '/healthz'))).toMatchObject({ code: 'ECONNREFUSED' });
});

test('bull-board shows the queues and their jobs read-only', async () => {
  const redis = await startPrivateRedis({ dir: temporaryFolder(), logger });
  onTestFinished(() => redis.close());
  const system = await openBullmqQueue({
    ledgerId: 'of-this-test',
    target: redis.target,
    logger,
  });
  onTestFinished(() => system.stop().then(() => undefined));
  await system.addSync({ workspaceId: 'ws-1', kind: 'scheduled', slot: '2026-03-20T12:00:00Z', attempt: 1 });
  const server = await serve({
    queues: system.queues,
    probe: probeOf({ queueCounts: async () => ({ sync: await system.counts() }) }),
  });

  for (const path of ['/admin/queues', '/admin/queues/', '/admin/queues/queue/sync']) {
    const page = await ask(server, path);
    expect([path, page.status, page.headers['content-type']]).toEqual([
      path,
      200,
      expect.stringMatching(/^text\/html/),
    ]);
    const script = /src="(static\/js\/main[^"]+)"/.exec(page.body)?.[1];
    expect(page.body).toContain('<base href="/admin/queues/"');
    expect((await ask(server, `/admin/queues/${script}`)).headers['content-type']).toMatch(/javascript/);
  }

  const listing = JSON.parse((await ask(server, '/admin/queues/api/queues?activeQueue=sync')).body);
  expect(listing.queues).toMatchObject([
    {
      name: 'sync',
      readOnlyMode: true,
      counts: { waiting: 1 },
      jobs: [{ data: { workspaceId: 'ws-1' } }],
    },
  ]);
  const pause = await ask(server, '/admin/queues/api/queues/sync/pause', { method: 'PUT' });
  expect([pause.status, pause.headers.allow]).toEqual([405, 'GET, HEAD']);
  expect(await system.queues[0]?.isPaused()).toBe(false);
  expect((await ask(server, '/metrics')).body).toContain('usage_ledger_queue_jobs{queue="sync",state="waiting"} 1\n');

  await redis.close();
  const away = await ask(server, '/admin/queues/api/queues');
  expect(away.status).toBe(500);
  expect((await ask(server, '/metrics')).status).toBe(200);
});
