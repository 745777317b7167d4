import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { type DaemonProcess, startDaemonProcess } from '../../support/daemon-process.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { countByState } from '../../support/messages.ts';
import { fillDeliveries, hurry } from './fill-deliveries.ts';
import { startFlakyReceiver, thirtyPercentFail } from './flaky-receiver.ts';

const NOTIFICATIONS = Number(process.env.DELIVERIES_NOTIFICATIONS ?? 10_000);
const KILLS = Number(process.env.DELIVERIES_KILLS ?? 20);
const SECRET = `whsec_${Buffer.from('a key for the long test').toString('base64')}`;
const DEADLINE_MS = 300_000 + NOTIFICATIONS * 120;

test(
  `${NOTIFICATIONS} notifications all arrive although 30% of calls fail and the daemon is killed ${KILLS} times`,
  async () => {
    const startedAtMs = performance.now();
    const receiver = await startFlakyReceiver({ secret: SECRET, fate: thirtyPercentFail(Math.random) });
    onTestFinished(receiver.close);
    const folder = await folderWithLedger(receiver.url);
    const ledgerPath = join(folder, 'data', 'ledger.db');
    fillDeliveries(ledgerPath, 'hook', NOTIFICATIONS);
    const view = viewLedger(ledgerPath);
    const pending = () => countByState(view).pending ?? 0;

    let kills = 0;
    let daemon: DaemonProcess = startDaemonProcess(folder);
    let killAt = NOTIFICATIONS / (KILLS + 1);
    while (pending() > 0) {
      if (performance.now() - startedAtMs > DEADLINE_MS) throw new Error(`${pending()} notifications are left`);
      if (kills < KILLS && receiver.takenCount() >= killAt) {
        daemon.child.kill('SIGKILL');
        await daemon.exit();
        kills += 1;
        killAt = ((kills + 1) * NOTIFICATIONS) / (KILLS + 1);
        daemon = startDaemonProcess(folder);
      }
      hurry(ledgerPath);
      await sleep(100);
    }

    const arrivals = [...receiver.arrivals.values()];
    const calls = arrivals.reduce((sum, arrival) => sum + arrival.calls, 0);
    const repeated = arrivals.filter(({ taken }) => taken > 1).length;
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    process.stdout.write(
      `${NOTIFICATIONS} notifications in ${seconds} s: ${calls} calls, ${JSON.stringify(receiver.fates)}, ${kills} kills, ${repeated} taken twice\n`,
    );
    expect(kills).toBe(KILLS);
    expect(countByState(view)).toEqual({ delivered: NOTIFICATIONS });
    expect(receiver.takenCount()).toBe(NOTIFICATIONS);
    expect(receiver.arrivals.size).toBe(NOTIFICATIONS);
    expect(receiver.forgeries).toEqual([]);
    expect(arrivals.filter(({ bodies }) => bodies.size !== 1)).toEqual([]);
    // Taken twice is only what was under way when the daemon was killed: four at a time.
    expect(repeated).toBeLessThanOrEqual(4 * KILLS);
    expect(receiver.fates['5xx'] * receiver.fates.reset * receiver.fates.timeout).toBeGreaterThan(0);
  },
  DEADLINE_MS + 60_000,
);

/** A folder with a configuration whose daemon has nothing to do but to deliver what its ledger has. */
async function folderWithLedger(url: string): Promise<string> {
  const hook = { type: 'webhook', name: 'hook', url, secret: SECRET, timeout_seconds: 1, allow_private: true };
  const settings = { ...ONE_TICK, log_level: 'error', alerts: { channels: [hook] } };
  const folder = daemonFolder(await startService(), settings);
  const quiet = { write: () => true };
  await main(['sync'], { stdout: quiet, stderr: quiet, env: {}, cwd: folder });
  return folder;
}
