import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { daemonFolder, ONE_TICK } from '../support/daemon-folder.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { viewLedger } from '../support/ledger-view.ts';
import { countByState, messages, pendingNotifications } from '../support/messages.ts';
import { current, ledgerOf, sandboxOf, socketOf, startSyncing } from './syncing-daemon.ts';

test('a second signal ends the daemon at once; the next start takes over the run and applies it', async () => {
  const { held, folder, daemon, view } = await startSyncing();

  daemon.child.kill('SIGTERM');
  await daemon.line('stopping');
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(1);
  expect(view.value('SELECT count(*) FROM finance_usage')).toBe(0n);
  held.release();

  // By hand, because the job itself is handed out again only when its lock has run out.
  const quiet = { write: () => true };
  expect(await main(['sync'], { stdout: quiet, stderr: quiet, env: {}, cwd: folder })).toBe(0);
  expect(view.rows('SELECT status FROM finance_runs ORDER BY started_at')).toEqual([
    { status: 'superseded' },
    { status: 'applied' },
  ]);
  // Stops the Redis that the killed daemon left, and with itself its own.
  const next = startDaemonProcess(folder);
  const { pid } = await daemon.line('private Redis is ready');
  expect((await next.line('private Redis is ready')).pid).not.toBe(pid);
  await next.line('ready');
  next.child.kill('SIGTERM');
  expect(await next.exit()).toBe(0);
  expect(existsSync(socketOf(folder))).toBe(false);
});

test('a digest missed during a downtime is sent once, and a daemon killed while sending it loses nothing', async () => {
  const sandbox = await sandboxOf();
  const receiver = await startReceiver((response) => {
    // The first sender never hears an answer.
    if (receiver.received.length > 1) response.writeHead(204).end();
  });
  onTestFinished(receiver.close);
  const received = () =>
    receiver.received.map(({ headers, body }) => ({
      id: headers['webhook-id'],
      alerts: JSON.parse(String(body)).alerts,
    }));
  const channel = { type: 'webhook', url: receiver.url, allow_private: true, digest_hour: 7 };
  // A warning, which waits for the digest.
  const defaults = { alerts: { critical_share: 1 } };
  const folder = daemonFolder(sandbox, { ...ONE_TICK, defaults, alerts: { channels: [channel] } });
  const quiet = { write: () => true };
  const sync = (): Promise<number> => main(['sync'], { stdout: quiet, stderr: quiet, env: {}, cwd: folder });
  expect(await sync()).toBe(0);
  sandbox.workspace().set({ tenantId: 'newcomer', period: current, credits: 5_000, requests: 1 });
  expect(await sync()).toBe(0);
  const view = viewLedger(ledgerOf(folder));
  expect(countByState(view)).toEqual({ held: 1 });
  const alter = (sql: string): void => {
    const connection = openForWriting(ledgerOf(folder));
    connection.exec(sql);
    connection.close();
  };
  alter("UPDATE alert_notified SET due_at = '2026-01-02T07:00:00.000Z' WHERE batch = 'digest'");

  const killed = startDaemonProcess(folder);
  await eventually(() => expect(received()).toHaveLength(1));
  killed.child.kill('SIGKILL');
  await killed.exit();
  expect(countByState(view)).toEqual({ pending: 1 });

  // Not to wait until the dead sender's hold on it has run out, in the ledger and in the queue, which is lost with it.
  alter('UPDATE deliveries SET due_at = scheduled_at WHERE due_at IS NOT NULL');
  const redis = new Redis(socketOf(folder));
  await redis.flushall();
  redis.disconnect();
  const daemon = startDaemonProcess(folder);
  await daemon.line('notification handled');
  expect(countByState(view)).toEqual({ delivered: 1 });
  const [first, second, ...others] = received();
  expect([second, others]).toEqual([first, []]);
  expect(first?.alerts).toMatchObject([{ state: 'firing', severity: 'warning' }]);
  expect(messages(view)).toMatchObject([{ id: first?.id, form: 'digest' }]);
});

test('an undelivered notification is reported under another id once the daemon runs', async () => {
  const sandbox = await sandboxOf();
  let status = 503;
  const receiver = await startReceiver((response) => response.writeHead(status).end());
  onTestFinished(receiver.close);
  const ids = () => receiver.received.map(({ headers }) => headers['webhook-id']);
  const channel = { type: 'webhook', url: receiver.url, allow_private: true };
  const folder = daemonFolder(sandbox, { ...ONE_TICK, alerts: { channels: [channel] } });
  const quiet = { write: () => true };
  const sync = (): Promise<number> => main(['sync'], { stdout: quiet, stderr: quiet, env: {}, cwd: folder });

  expect(await sync()).toBe(0);
  sandbox.workspace().set({ tenantId: 'acme', period: current, credits: 50_000, requests: 100 });
  expect(await sync()).toBe(0);
  expect(ids()).toHaveLength(1);
  const view = viewLedger(ledgerOf(folder));
  expect(pendingNotifications(view)).toMatchObject([{ event: 'opened', failures: 1 }]);

  status = 204;
  const daemon = startDaemonProcess(folder);
  await daemon.line('notification handled');
  expect(new Set(ids()).size).toBe(2);
  expect(messages(view)).toMatchObject([{ id: ids()[1], state: 'delivered', attempts: 1 }]);
  expect(view.rows('SELECT tenant_id, level, state FROM finance_alerts')).toEqual([
    { tenant_id: 'acme', level: 'happened', state: 'firing' },
  ]);
});
