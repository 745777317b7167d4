import { join } from 'node:path';
import { expect } from 'vitest';
import { addPeriods, periodAt } from '../../src/core/period.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { daemonFolder, ONE_TICK, startService } from '../support/daemon-folder.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { holdAnswer } from '../support/hold-answer.ts';
import { viewLedger } from '../support/ledger-view.ts';
import { awayFromMonthEnd } from '../support/time/test-clock.ts';

await awayFromMonthEnd();

export const current = periodAt(Date.now());

export async function sandboxOf(): Promise<Sandbox> {
  const usage = [3, 2, 1, 0].map((back) => ({
    tenant_id: 'acme',
    period: addPeriods(current, -back),
    credits_used: 10_000,
    request_count: 100,
  }));
  return startService({ usage });
}

export const ledgerOf = (folder: string): string => join(folder, 'data', 'ledger.db');
export const socketOf = (folder: string): string => join(folder, 'data', 'ledger.db.redis', 'redis.sock');

/** A daemon whose first sync waits for an answer that is held. */
export async function startSyncing() {
  const sandbox = await sandboxOf();
  const held = holdAnswer(sandbox);
  const folder = daemonFolder(sandbox, ONE_TICK);
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  await held.reached;
  const view = viewLedger(ledgerOf(folder));
  expect(view.rows('SELECT status FROM finance_runs')).toEqual([{ status: 'running' }]);
  return { held, folder, daemon, view };
}
