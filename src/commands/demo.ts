import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { sleep, systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { addPeriods, periodAt } from '../core/period.ts';
import { Releasers } from '../core/process/releasers.ts';
import { openReader } from '../ledger/store/file/open.ts';
import { findOnPath } from '../operations/doctor/check-daemon.ts';
import { renderTable } from '../reports/formats/table.ts';
import { viewColumnKind } from '../reports/queries/finance-view.ts';
import { type Sandbox, startSandbox } from '../sandbox/server.ts';
import type { ScenarioInput } from '../sandbox/world/scenario.ts';
import { CliCommand, type CliContext, printProse, withStopSignal } from './shared/cli-context.ts';

const STEP_TIMEOUT_MS = 30_000;
const DEMO_WORKSPACE = 'ws-demo';
const JUMPING = 'blue-harbor';
/** Credits of each tenant in the first of the demo's five months. */
const DEMO_TENANTS = { [JUMPING]: 41_000, 'cedar-analytics': 18_500, 'delta-foods': 7_250, 'ember-labs': 63_900 };
const FINANCE_QUERIES = [
  'SELECT tenant_id, period, credits_used, request_count, state FROM finance_usage ORDER BY period DESC LIMIT 4',
  'SELECT recorded_at, tenant_id, period, credits_delta, credits_after FROM finance_history ORDER BY entry_id DESC LIMIT 1',
  'SELECT tenant_id, rule, level, severity, previous_credits, current_credits FROM finance_alerts',
  'SELECT run_id, status, pages, records, entries FROM finance_runs',
];

export function demoCommand(cli: CliContext): CliCommand {
  return new CliCommand('demo')
    .option('--keep', 'keep sandbox, daemon and ledger running until Ctrl-C, to explore them')
    .examples('usage-ledger demo', 'usage-ledger demo --keep')
    .action(({ keep = false }: { keep?: boolean }) => withStopSignal((stop) => runDemo(cli, keep, stop)));
}

/**
 * Runs the product end to end in a temporary folder: the sandbox, the daemon with its private Redis, a tenant whose usage
 * jumps, the alert, the ledger's views, a statement and a report. Without `redis-server`, the commands `sync` and
 * `rates apply` replace the daemon.
 */
async function runDemo(cli: CliContext, keep: boolean, stop: AbortSignal): Promise<void> {
  const releasers = new Releasers();
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-demo-'));
  releasers.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const sandbox = await startSandbox({ scenario: scenario(cli.now()), keepRequests: 0 });
    releasers.push(() => sandbox.close());
    const receiver = await startReceiver();
    releasers.push(receiver.close);
    const port = await freePort();
    const document = demoConfiguration(sandbox.url, receiver.url, port);
    writeFileSync(join(folder, 'usage-ledger.yml'), document, { mode: 0o600 });
    cli.print(`Started a sandbox service with ${Object.keys(DEMO_TENANTS).length} tenants on ${sandbox.url}.`);
    cli.print(`Configuration and ledger: ${folder}`);

    const shell = shellIn(cli, folder, stop);
    const withDaemon = findOnPath('redis-server', cli.io.env.PATH ?? '') !== null;
    if (withDaemon) releasers.push(await startDemoDaemon(cli, folder, stop));
    else {
      await shell('sync');
      await shell('rates', 'apply', '--yes');
    }
    raiseUsage(cli, sandbox);
    await shell('sync');
    const message = await receiver.first(stop);
    cli.print('\nThe webhook received this message:');
    printProse(cli, `  ${message}`);
    showLedger(cli, join(folder, 'data', 'ledger.db'));
    await shell('statement', addPeriods(periodAt(cli.now()), -1), '--tenant', JUMPING);
    const page = join(keep ? folder : tmpdir(), 'usage-ledger-demo.html');
    await shell('report', '--out', page);
    cli.print(`\nReport: file://${page}`);
    if (keep) {
      if (withDaemon) await shell('open');
      await waitForStop(cli, folder, stop);
    }
  } finally {
    await releasers.release();
  }
  cli.print('\nDone. The demo has stopped everything that it started. Next, in a new folder, with your own service:');
  for (const words of ['init', 'doctor', 'sync']) cli.print(`  ${cli.commandLine(words)}`);
}

function scenario(nowMs: number): ScenarioInput {
  const usage = Object.entries(DEMO_TENANTS).flatMap(([tenant_id, base]) =>
    [0, 1, 2, 3, 4].map((month) => ({
      tenant_id,
      period: addPeriods(periodAt(nowMs), month - 4),
      credits_used: Math.round(base * (month === 4 ? 0.6 : 1 + month * 0.03)),
      request_count: Math.round(base / (month === 4 ? 6 : 3.5)),
    })),
  );
  return { workspaces: [{ id: DEMO_WORKSPACE, api_key_id: 'ak_demo', secret_key: 'sk_demo_not_a_secret', usage }] };
}

function demoConfiguration(serviceUrl: string, webhookUrl: string, port: number): string {
  return `http:
  port: ${port}
workspaces:
  - id: ${DEMO_WORKSPACE}
    name: Demo
    base_url: ${serviceUrl}
    embed_url: ${serviceUrl}
    api_key_id: ak_demo
    secret_key: sk_demo_not_a_secret
    cron: "* * * * *"
rates:
  - name: standard
    from_period: 2020-01
    currency: EUR
    included_credits: 1000
    graduated:
      - up_to: 20000
        price_per_credit: "0.0125"
      - price_per_credit: "0.01"
    minimum: "50.00"
alerts:
  channels:
    - type: webhook
      url: ${webhookUrl}
      secret: whsec_ZGVtby1zZWNyZXQtb2YtdXNhZ2UtbGVkZ2Vy
      allow_private: true
`;
}

async function startReceiver(): Promise<{ url: string; first(stop: AbortSignal): Promise<string>; close(): void }> {
  const summaries: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    summaries.push(JSON.parse(Buffer.concat(chunks).toString()).summary);
    response.writeHead(204).end();
  });
  const port = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    first: (stop) => waitFor('message to the webhook', () => summaries[0], stop),
    close: () => void server.close(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  return port;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function shellIn(cli: CliContext, folder: string, signal: AbortSignal): (...argv: string[]) => Promise<void> {
  return async (...argv) => {
    cli.print(`\n$ usage-ledger ${argv.join(' ')}`);
    const { stdout } = await promisify(execFile)(process.execPath, [script(), ...argv], { cwd: folder, signal });
    if (stdout !== '') cli.print(stdout.trimEnd());
  };
}

/**
 * Starts the daemon as a child process and prints its log. After the first applied run, resolves with a function that
 * stops the daemon.
 */
async function startDemoDaemon(cli: CliContext, folder: string, stop: AbortSignal): Promise<() => Promise<void>> {
  cli.print('\n$ usage-ledger daemon');
  const child = spawn(process.execPath, [script(), 'daemon'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    // Detached, so that Ctrl-C reaches only the demo: a second signal would keep the daemon from stopping its Redis.
    detached: true,
  });
  const exited = once(child, 'exit');
  const messages: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    const { msg = line, records } = line.startsWith('{') ? JSON.parse(line) : {};
    messages.push(msg);
    cli.print(`  ${msg}${records === undefined ? '' : `: ${records} records`}`);
  });
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  try {
    await waitFor(
      'applied run of the daemon',
      () => {
        if (child.exitCode !== null) throw new AppError('demo_failed', `the daemon exited with code ${child.exitCode}`);
        return messages.find((message) => message === 'run applied');
      },
      stop,
    );
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}

function script(): string {
  return process.argv[1] ?? '';
}

function raiseUsage(cli: CliContext, sandbox: Sandbox): void {
  const workspace = sandbox.workspace();
  const row = workspace.rows().find(({ tenantId, period }) => tenantId === JUMPING && period === periodAt(cli.now()));
  if (row === undefined) throw new Error(`the scenario has no usage of ${JUMPING} in this month`);
  workspace.set({ ...row, credits: Number(row.credits) + 90_000, requests: Number(row.requests) + 25_000 });
  cli.print(`\n${JUMPING} now uses 90,000 more credits. The next run detects the jump:`);
}

function showLedger(cli: CliContext, path: string): void {
  const reader = openReader(path);
  try {
    for (const sql of FINANCE_QUERIES) {
      const statement = reader.connection.prepare(sql).safeIntegers();
      const rows = statement.all() as Record<string, unknown>[];
      const columns = statement.columns().map(({ name }) => ({ name, header: name, kind: viewColumnKind(name) }));
      cli.print(`\nsqlite> ${sql};\n${renderTable(rows, columns)}`);
    }
  } finally {
    reader.close();
  }
}

async function waitForStop(cli: CliContext, folder: string, stop: AbortSignal): Promise<void> {
  cli.print('\nRunning until Ctrl-C:');
  cli.print(`  the ledger  sqlite3 -readonly ${join(folder, 'data', 'ledger.db')}`);
  cli.print(`  commands    ${cli.commandLine(`status --config ${join(folder, 'usage-ledger.yml')}`)}`);
  if (!stop.aborted) await once(stop, 'abort');
}

async function waitFor<T>(what: string, find: () => T | undefined, stop: AbortSignal): Promise<T> {
  const deadline = systemClock.monotonic() + STEP_TIMEOUT_MS;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (systemClock.monotonic() > deadline)
      throw new AppError('demo_failed', `no ${what} within ${STEP_TIMEOUT_MS / 1000} s`);
    await sleep(systemClock, 50, stop);
  }
}
