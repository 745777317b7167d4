import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { startCommand } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { createFakedClock, type FakedClock } from './faked-clock.ts';

type Row = Readonly<Record<string, unknown>>;

/** A daemon of its own process under a wall clock that can be moved, on a minute's cron, with a service of one workspace. */
export interface PlayedDaemon {
  readonly clock: FakedClock;
  /** The run that did this slot or a later one; waits for it so long at most. */
  runOfSlot(slotMs: number, withinMs: number): Promise<Row>;
  /** The slots that more than one run has published. */
  slotsDoneTwice(): unknown[];
  stop(): Promise<void>;
}

export interface PlayOptions {
  /** A redis-server of its own: under libfaketime one does not come up. */
  redisUrl: string;
  TZ?: string;
}

export async function startPlayedDaemon(nowMs: number, { redisUrl, TZ = 'UTC' }: PlayOptions): Promise<PlayedDaemon> {
  const folder = temporaryFolder();
  const clock = createFakedClock(folder, nowMs);
  const workspace = { id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_1_not_a_secret' };
  const usage = ['2026-01', '2026-02', '2026-03'].map((period) => ({
    ...{ tenant_id: 'acme', period, credits_used: 1000, request_count: 10 },
  }));
  const sandbox = await startSandbox({
    scenario: { workspaces: [{ ...workspace, usage }] },
    clock: clockThat(clock.now),
    keepRequests: 0,
  });
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `http: { port: 0 }
redis_url: ${redisUrl}
workspaces:
  - id: ws-1
    api_key_id: ak_1
    secret_key: ${workspace.secret_key}
    base_url: ${sandbox.url}
    embed_url: ${sandbox.url}
    cron: "* * * * *"
    reconcile_cron: "0 0 29 2 *"
alerts: { channels: [{ type: log }] }
`,
    { mode: 0o600 },
  );
  const daemon = startCommand(folder, 'daemon', [], { ...clock.env, TZ });
  await daemon.line('ready', 60_000);
  const view = viewLedger(join(folder, 'data', 'ledger.db'));
  return {
    clock,
    async runOfSlot(slotMs, withinMs) {
      const slot = new Date(slotMs).toISOString();
      let found: Row | undefined;
      await eventually(() => {
        const runs = view.rows(
          "SELECT slot, status, from_period, to_period FROM finance_runs WHERE kind = 'scheduled' ORDER BY started_at, run_id",
        );
        found = runs.find((run) => run.status === 'applied' && String(run.slot) === slot);
        const latest = JSON.stringify(runs.slice(-3));
        expect(found, `a run of ${slot}; the latest are ${latest}`).toBeDefined();
      }, withinMs);
      return found as Row;
    },
    slotsDoneTwice: () =>
      view.rows(
        `SELECT slot, count(*) AS runs FROM finance_runs WHERE status = 'applied' AND kind = 'scheduled'
         GROUP BY slot HAVING count(*) > 1`,
      ),
    async stop() {
      daemon.child.kill('SIGTERM');
      await daemon.exit();
      await sandbox.close();
    },
  };
}
