// The main job against the sandbox, on real parts: sandbox, daemon under BullMQ with a private Redis, two ticks, a tenant
// that jumps between them, and what finance and the engineer on call see of it. Ends by itself and leaves nothing behind but a page to look at.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openReader } from '../build/ledger/store/file/open.js';
import { renderTable } from '../build/reports/formats/table.js';
import { viewColumnKind } from '../build/reports/queries/finance-view.js';
import { startSandbox } from '../build/sandbox/server.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const PAGE = join(tmpdir(), 'usage-ledger-demo.html');
const DEADLINE_MS = 85_000;
const JUMPING = 'blue-harbor';

const say = (text) => process.stdout.write(`${text}\n`);
const deadline = Date.now() + DEADLINE_MS;
const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-demo-'));
const ledgerPath = join(folder, 'data', 'ledger.db');
const releases = [() => rmSync(folder, { recursive: true, force: true })];
let interrupted = false;
let daemonEnded = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (interrupted = true));

try {
  await demo();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`demo failed: ${error.message}\n`);
} finally {
  for (const release of releases.reverse()) await release();
}

async function demo() {
  const sandbox = await startSandbox({ scenario: scenario() });
  releases.push(() => sandbox.close());
  const webhook = await startReceiver();
  releases.push(() => webhook.close());
  writeFileSync(join(folder, 'usage-ledger.yml'), configuration(sandbox.url, webhook.url), { mode: 0o600 });

  say(`sandbox on ${sandbox.url}, ledger in ${folder}`);
  say('\n$ usage-ledger daemon');
  const daemon = startDaemon();
  releases.push(() => daemon.stop());

  const first = await waitFor('the first tick', () => daemon.runs[0]);
  say(`first tick:  ${first.records} records, ${first.entries} entries, ${first.alerts} alerts`);

  const workspace = sandbox.workspace();
  const period = new Date().toISOString().slice(0, 7);
  const before = workspace.rows().find((row) => row.tenantId === JUMPING && row.period === period);
  workspace.set({ ...before, credits: Number(before.credits) + 90_000, requests: Number(before.requests) + 300 });
  say(`upstream, tenant ${JUMPING} now uses 90,000 credits more; the next tick comes with the next minute ...`);

  const second = await waitFor('the second tick', () => daemon.runs.find((run) => run.slot > first.slot));
  say(`second tick: ${second.records} records, ${second.entries} entry, ${second.alerts} alert`);
  const call = await waitFor('the webhook call', () => webhook.calls[0]);

  showLedger();
  showBill();
  say(`\nThe alert, as the webhook got it (webhook-id ${call.id}):\n  ${call.body.summary}`);
  await daemon.stop();
  say(
    '\nDone: the daemon and its Redis have stopped, the ledger of the demo is removed. The page stays: open it in a browser.',
  );
}

function scenario() {
  const current = new Date();
  const months = [4, 3, 2, 1, 0].map((back) =>
    new Date(Date.UTC(current.getUTCFullYear(), current.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
  const tenants = [
    [JUMPING, 41_000],
    ['cedar-analytics', 18_500],
    ['delta-foods', 7_250],
    ['ember-labs', 63_900],
  ];
  const usage = tenants.flatMap(([tenant_id, base]) =>
    months.map((period, index) => ({
      tenant_id,
      period,
      credits_used: Math.round(base * (index === months.length - 1 ? 0.6 : 1 + index * 0.03)),
      request_count: Math.round(base / (index === months.length - 1 ? 6 : 3.5)),
    })),
  );
  return { workspaces: [{ id: 'ws-demo', api_key_id: 'ak_demo', secret_key: 'sk_demo_not_a_secret', usage }] };
}

function configuration(serviceUrl, webhookUrl) {
  return `http:
  port: 0
workspaces:
  - id: ws-demo
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

/** The daemon as a process of its own, and the runs that its log tells of. */
function startDaemon() {
  const child = spawn(process.execPath, [CLI, 'daemon'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const runs = [];
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      say(`  ${line}`);
      if (!line.startsWith('{')) continue;
      const entry = JSON.parse(line);
      if (entry.msg === 'run applied') runs.push(entry);
    }
  });
  const exited = once(child, 'exit').then(() => (daemonEnded = true));
  return {
    runs,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

async function startReceiver() {
  const calls = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    calls.push({ id: request.headers['webhook-id'], body: JSON.parse(body) });
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { calls, url: `http://127.0.0.1:${server.address().port}/hook`, close: () => server.close() };
}

function showLedger() {
  const reader = openReader(ledgerPath);
  try {
    show(reader, 'finance_period_totals', 'period, tenants, credits_used, request_count, state, complete');
    show(
      reader,
      'finance_usage',
      'tenant_id, period, credits_used, request_count, state',
      'ORDER BY period DESC LIMIT 4',
    );
    show(
      reader,
      'finance_history',
      'recorded_at, tenant_id, period, kind, credits_delta, credits_after',
      'ORDER BY entry_id DESC LIMIT 1',
    );
    show(
      reader,
      'finance_alerts',
      'tenant_id, period, rule, level, severity, state, previous_credits, current_credits',
    );
    show(reader, 'finance_runs', 'run_id, status, pages, records, entries');
  } finally {
    reader.close();
  }
}

/** What last month's bill says, and the page of the whole. */
function showBill() {
  const now = new Date();
  const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
  const run = (...argv) => execFileSync(process.execPath, [CLI, ...argv], { cwd: folder, encoding: 'utf8' });
  say(
    `\n$ usage-ledger statement ${last} --tenant ${JUMPING}\n${run('statement', last, '--tenant', JUMPING).trimEnd()}`,
  );
  run('report', '--out', PAGE);
  say(`\n$ usage-ledger report --out ${PAGE}`);
}

function show(reader, view, columns, rest = '') {
  const sql = `SELECT ${columns} FROM ${view} ${rest}`.trim();
  const rows = reader.connection.prepare(sql).safeIntegers().all();
  const shown = columns.split(', ').map((name) => ({ name, header: name, kind: viewColumnKind(name) }));
  say(`\nsqlite> ${sql};\n${renderTable(rows, shown)}`);
}

async function waitFor(what, find) {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (interrupted) throw new Error('interrupted');
    if (daemonEnded) throw new Error(`the daemon ended before ${what} came`);
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${DEADLINE_MS / 1000} s`);
    await sleep(100);
  }
}
