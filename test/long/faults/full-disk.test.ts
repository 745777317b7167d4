import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { periodAt } from '../../../src/core/period.ts';
import { startReceiver } from '../../alerts/channels/receiver.ts';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { startCommand, startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { fill, smallFileSystem } from './full-file-system.ts';

test('a daemon that starts on a full disk tells each channel once, and begins its work when there is room', async () => {
  const usage = [{ tenant_id: 'acme', period: periodAt(Date.now()), credits_used: 10_000, request_count: 100 }];
  const receiver = await startReceiver((response) => response.writeHead(200).end());
  onTestFinished(() => receiver.close());
  const channel = { type: 'webhook', name: 'on-call', url: receiver.url, allow_private: true };
  const folder = daemonFolder(await startService({ usage }), { ...ONE_TICK, alerts: { channels: [channel] } });
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  smallFileSystem(data);
  expect(await startCommand(folder, 'sync').exit()).toBe(0);
  fill(join(data, 'filler'));

  const stopped = startDaemonProcess(folder);
  await stopped.line('cannot write the ledger: the start waits for free disk space');
  await eventually(() => expect(receiver.received).toHaveLength(1));
  stopped.child.kill('SIGTERM');
  expect(await stopped.exit()).toBe(0);
  const toldBy = () => receiver.received.splice(0).map(({ body }) => JSON.parse(String(body)));
  expect(toldBy()).toMatchObject([{ rule: 'job_failed', cause: 'disk', event: 'opened', severity: 'critical' }]);

  const daemon = startDaemonProcess(folder);
  await daemon.line('cannot write the ledger: the start waits for free disk space');
  await eventually(() => expect(receiver.received).toHaveLength(1));
  const [told] = toldBy();
  expect(told.summary).toContain('The disk of the ledger needs attention: 0 MiB free.');
  rmSync(join(data, 'filler'));
  await daemon.line('ready');
  const ledger = viewLedger(join(data, 'ledger.db'));
  await eventually(() =>
    expect(
      ledger.rows("SELECT alert_id, notification_id, outcome FROM finance_alert_messages WHERE event = 'opened'"),
    ).toEqual([{ alert_id: told.alert_id, notification_id: told.notification_id, outcome: 'delivered' }]),
  );
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  expect(toldBy()).toEqual([]);
});
