import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../src/ledger/store/schema/identity.ts';
import type { ReplicaClient } from '../../../src/publish/connect.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { type DaemonProcess, startCommand } from '../../support/daemon-process.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { awayFromMonthEnd } from '../../support/time/test-clock.ts';
import { addRuns, startReceiver, type Told } from '../world-parts.ts';

export const SHARDS = 3;
const TENANTS = ['acme', 'globex', 'hooli'];
await awayFromMonthEnd();
const current = periodAt(Date.now());

/** Several hosts in folders of their own: one service, one Redis, one Postgres. */
export interface ShardWorld {
  sandbox: Sandbox;
  /** Ids of a shard's workspaces. */
  workspacesOf(shard: number): string[];
  /** What all channels have received so far. */
  told: Told[];
  /** The folder of a host that does a shard, with its configuration only. */
  host(name: string, shard: number): string;
  daemon(name: string): DaemonProcess;
  command(name: string, ...argv: string[]): Promise<{ code: number; out: string }>;
  ledgerPath(name: string): string;
  head(name: string): { seq: number; digest: string };
  /** What a cron's tick does: a run of each workspace of the host's ledger. */
  tick(name: string): Promise<void>;
}

export async function startShardWorld(
  server: PostgresServer,
  { redisUrl, schema, workspaces }: { redisUrl: string; schema: string; workspaces: number },
): Promise<ShardWorld> {
  const all = Array.from({ length: workspaces }, (_, index) => `ws-${index + 1}`);
  const sandbox = await startSandbox({ scenario: { workspaces: all.map(serviceWorkspace) }, keepRequests: 0 });
  onTestFinished(() => sandbox.close());
  const root = temporaryFolder();
  const { port, told } = await startReceiver();
  const ledgerPath = (name: string): string => join(root, name, 'data', 'ledger.db');
  const shardOf = new Map<string, number>();
  const workspacesOf = (shard: number): string[] => all.filter((_, index) => index % SHARDS === shard);
  const reading = <T>(name: string, read: (connection: ReturnType<typeof openReader>['connection']) => T): T => {
    const { connection, close } = openReader(ledgerPath(name));
    try {
      return read(connection);
    } finally {
      close();
    }
  };
  return {
    ...{ sandbox, told, ledgerPath, workspacesOf },
    host(name, shard) {
      shardOf.set(name, shard);
      mkdirSync(join(root, name));
      const hook = `{ type: webhook, url: "http://127.0.0.1:${port}/${name}", allow_private: true }`;
      writeFileSync(
        join(root, name, 'usage-ledger.yml'),
        `redis_url: ${redisUrl}
http: { port: 0 }
publish: { url: "${server.settings(schema).url}", schema: ${schema} }
defaults: { base_url: "${sandbox.url}", embed_url: "${sandbox.url}", cron: "0 0 1 1 *", reconcile_cron: "0 0 1 1 *" }
workspaces:
${workspacesOf(shard)
  .map((id) => `  - { id: ${id}, api_key_id: ak_${id}, secret_key: sk_of_${id}_not_a_secret }`)
  .join('\n')}
alerts: { channels: [${hook}] }
`,
        { mode: 0o600 },
      );
      return join(root, name);
    },
    daemon: (name) => startCommand(join(root, name), 'daemon'),
    async command(name, ...argv) {
      let out = '';
      const stdout = {
        write(text: string) {
          out += text;
          return true;
        },
      };
      const streams = { stdout, stderr: stdout, env: { PATH: process.env.PATH }, cwd: join(root, name) };
      return { code: await main(argv, streams), out };
    },
    head: (name) => reading(name, headOfChain),
    async tick(name) {
      await addRuns({ id: reading(name, ledgerId), redisUrl, workspaceIds: workspacesOf(shardOf.get(name) ?? 0) });
    },
  };
}

/** Lets every tenant of some workspaces use more in the open month; one of each workspace so much that it is told of. */
export function grow(sandbox: Sandbox, ids: Iterable<string>, { jumps = null as string | null } = {}): void {
  for (const id of ids) {
    const workspace = sandbox.workspace(id);
    for (const row of workspace.rows()) {
      if (row.period !== current) continue;
      const more = row.tenantId === jumps ? 90_000 : 1;
      workspace.set({ ...row, credits: Number(row.credits) + more, requests: Number(row.requests) + 1 });
    }
  }
}

/** `workspace period credits` of every workspace, as the service has them. */
export function serviceTotals({ workspaces }: Sandbox): string[] {
  return [...workspaces]
    .flatMap(([id, workspace]) => {
      const credits = new Map<string, bigint>();
      for (const row of workspace.rows())
        credits.set(row.period, (credits.get(row.period) ?? 0n) + BigInt(row.credits));
      return [...credits].map(([period, sum]) => `${id} ${period} ${sum}`);
    })
    .sort();
}

/** The same over all ledgers of the replica. */
export async function replicaTotals(client: ReplicaClient): Promise<string[]> {
  const rows = await client.query<{ workspace_id: string; period: string; credits_used: bigint }>(
    'SELECT workspace_id, period, credits_used FROM finance_period_totals',
  );
  return rows.map((row) => `${row.workspace_id} ${row.period} ${row.credits_used}`).sort();
}

function serviceWorkspace(id: string) {
  const usage = [2, 1, 0].flatMap((back) =>
    TENANTS.map((tenant_id, index) => ({
      ...{ tenant_id, period: addPeriods(current, -back), request_count: 100 },
      credits_used: back === 0 ? 5_000 + index : 10_000 + index,
    })),
  );
  return { id, api_key_id: `ak_${id}`, secret_key: `sk_of_${id}_not_a_secret`, usage };
}
