// Plays an example of every command, all of them in one story of one ledger, and gives what they print. The clock stands
// where the story puts it and chance has a seed: the output is the same every time and on every machine.
import { createHash, createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../src/commands/main.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLogger } from '../src/core/logger.ts';
import { systemRandomness } from '../src/core/randomness.ts';
import { closeForWriting } from '../src/ledger/store/file/open.ts';
import { startSandbox } from '../src/sandbox/server.ts';
import { execute } from '../src/writer/commands.ts';
import { openSession } from '../src/writer/session.ts';
import { createWriter } from '../src/writer/writer.ts';

const WIDTH = 100;
/** 1 March 2026, 06:00 UTC. */
const BEGIN = Date.UTC(2026, 2, 1, 6);
const DAY_MS = 24 * 3_600_000;
/** What the ledger's folder is called where it is shown. */
const FOLDER = '/srv/usage-ledger';
const KEY = { api_key_id: 'ak_example', secret_key: 'sk_not_a_secret' };
/** By month, from December 2025 on. */
const CREDITS = {
  acme: [12_400, 13_100, 14_700, 400],
  globex: [20_000, 20_800, 21_600, 700],
  initech: [6900, 7100, 7040, 200],
};
const MONTHS = ['2025-12', '2026-01', '2026-02', '2026-03'];
/** As in a pipe, where no bar is drawn. */
const PIPE = { pipe: true };

/** Gives the examples of each command by its words. `demo` has none: its clock is the machine's. */
export async function playExamples() {
  seedChance();
  // The daemon ends its process a moment after it has stopped; here other examples follow.
  process.exit = () => undefined;
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-examples-'));
  const receiver = await startReceiver();
  let nowMs = BEGIN;
  const clock = { ...systemClock, now: () => nowMs };
  const usage = Object.entries(CREDITS).flatMap(([tenant, credits]) =>
    credits.map((count, month) => ({ tenant_id: tenant, period: MONTHS[month], ...figures(count) })),
  );
  const sandbox = await startSandbox({ scenario: { workspaces: [{ id: 'ws-123', ...KEY, usage }] }, clock });
  const httpPort = await freePort();
  writeKey(join(folder, 'data'));

  const shown = new Map();
  const steady = (text) =>
    text
      .replaceAll(folder, FOLDER)
      .replaceAll(sandbox.url, 'https://api.example.com')
      .replaceAll(`127.0.0.1:${receiver.port}`, 'hooks.example.com')
      .replaceAll(String(httpPort), '9464')
      .replaceAll(/(?<=http:..127.0.0.1:)(?!9464)\d+/g, '8787')
      .replaceAll(/(?<=process |pid=)\d+/g, '4242')
      .replaceAll(/(?<= in )[\d.]+ m?s/g, '5 ms')
      .replaceAll(/^\S+ \S+ WARN .*\n/gm, '')
      .replaceAll(/[\d,]+(?= bytes)/g, '430,080')
      .replaceAll(/(?<=token=).*/g, '...')
      .replaceAll(/^\S+ \S+(?= INFO )/gm, `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')}Z`)
      .replaceAll(/[0-9a-f]{64}/g, (digest) => `${digest.slice(0, 8)}...`);
  const story = {
    settings: {
      http: { port: httpPort },
      workspaces: [{ id: 'ws-123', base_url: sandbox.url, embed_url: sandbox.url, ...KEY }],
      alerts: { channels: [{ name: 'on-call', type: 'webhook', url: receiver.url, allow_private: true }] },
    },
    outlet: { name: 'billing', type: 'webhook', url: receiver.url, allow_private: true },
    at(ms) {
      nowMs = ms;
    },
    /** From now on the service has so many. */
    uses(tenantId, period, count) {
      const { credits_used: credits, request_count: requests } = figures(count);
      sandbox.workspace().set({ tenantId, period, credits, requests });
    },
    write(name, content) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      writeFileSync(join(folder, name), text, { mode: 0o600 });
    },
    /** Types what only leads to the next example; gives its output. */
    async type(line, how = {}) {
      const { code, out } = await run(line, { folder, clock, ...how });
      if (![0, 4, how.code].includes(code)) throw new Error(`\`${line}\` ended with ${code}: ${out}`);
      return out;
    },
    /** Types an example of the command. */
    async show(command, line, how = {}) {
      const out = await story.type(line, how);
      const example = `$ usage-ledger ${line}\n${shortened(steady(out), how)}`;
      shown.set(command, [...(shown.get(command) ?? []), example.trimEnd()]);
      return out;
    },
  };
  try {
    await begin(story);
    await closeFebruary(story);
    await lookAfterAlerts(story);
    await sendOn(story);
    await keep(story);
  } finally {
    await sandbox.close();
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return shown;
}

async function begin({ show, type, write, settings }) {
  await show('init', 'init', { cut: /\nNext:[\s\S]*/ });
  write('usage-ledger.yml', settings);
  await show('migrate', 'migrate');
  await show('doctor', 'doctor', { cut: /ok {4}ledger[\s\S]*/ });
  await show('sandbox', 'sandbox', { until: 'serving', cut: / +api_key_id:[\s\S]*?(?=serving)/ });
  await show('sync', 'sync', PIPE);
  write('rates-2026.yml', { rates: [card('standard', '0.0125')] });
  await show('rates apply', 'rates apply rates-2026.yml', { cut: /\nTenant[\s\S]*?(?=nothing)/ });
  await type('rates apply rates-2026.yml --yes');
  await show('rates list', 'rates list');
  write('customers.csv', 'tenant_id,display_name,external_ref\nacme,Acme Ltd,C-1\nglobex,Globex Inc,C-2\n');
  await show('tenants import', 'tenants import customers.csv --dry-run');
  await type('tenants import customers.csv');
  await show('tenants list', 'tenants list');
}

async function closeFebruary({ show, type, write, at, uses }) {
  at(BEGIN + 2 * DAY_MS);
  uses('globex', '2026-02', 21_900);
  await type('sync');
  await show('usage', 'usage --period 2026-02');
  await show('tenant', 'tenant globex --period 2026-02 --live');
  const add = 'lines add --tenant acme --period 2026-02 --currency EUR';
  await show('lines add', `${add} --amount -12.50 --reason goodwill --by Ada`);
  await type(`${add} --amount 49 --reason setup --by Ada`);
  await show('lines list', 'lines list --period 2026-02');
  await show('lines revoke', 'lines revoke 2 --reason "meant for globex" --by Ada');
  write('rates-2027.yml', { rates: [card('standard', '0.0115')] });
  await show('rates check', 'rates check rates-2027.yml', { cut: /\nTenant[\s\S]*/ });
  await show('month-end', 'month-end 2026-02', { cut: /\nWorkspace[\s\S]*(?=\nBlocking:)|\nAlso worth[\s\S]*/g });
  at(BEGIN + 3 * DAY_MS);
  await type('sync');
  await show('close', 'close 2026-02 --by "Ada Byron" --note "invoice run 12"');
  await show('statement', 'statement 2026-02');
  await type('statement 2026-02 --for-tenant acme --format json --out acme.json');
  await show('statement verify', 'statement verify acme.json --ledger');
  write('invoices.csv', 'customer,net\nacme,171.25\nglobex,270.00\ninitech,88.00\n');
  await show('reconcile', 'reconcile invoices.csv --period 2026-02 --tenant-column customer --amount-column net', PIPE);
  await show('export', 'export tenants', PIPE);
  await show('publish', 'publish', { code: 2 });
  await show('report', 'report --out usage.html', PIPE);
}

async function lookAfterAlerts({ show, type, at, uses }) {
  at(BEGIN + 9 * DAY_MS);
  uses('globex', '2026-02', 22_100);
  uses('acme', '2026-03', 61_000);
  uses('globex', '2026-03', 8000);
  uses('initech', '2026-03', 2100);
  await show('sync', 'sync --dry-run', { ...PIPE, cut: / .*globex[\s\S]*(?= {2}alert)/ });
  await type('sync');
  const [alert] = /alert_\w+/.exec(await show('alerts list', 'alerts'));
  await show('alerts show', `alerts show ${alert}`, { cut: / {10,}Now[\s\S]*(?=\nAt, UTC)/ });
  await show('alerts explain', `alerts explain ${alert}`, { cut: / {10,}Now[\s\S]*(?=\nLimit)|Difference[\s\S]*/g });
  await show('alerts ack', `alerts ack ${alert} --note "load test, ends Friday" --by Ada`);
  await show('alerts feedback', `alerts feedback ${alert} real --by Ada`);
  const silence = '--until 2026-06-08 --reason "trials end in June" --by Ada';
  const muted = await show('alerts silence', `alerts silence --tenant "trial-*" ${silence}`);
  const plan = '--up-to 500000 --until 2026-04-01 --reason launch --by Ada';
  await show('alerts plan', `alerts plan --tenant acme --period 2026-03 ${plan}`);
  await show('alerts silences', 'alerts silences');
  await show('alerts unsilence', `alerts unsilence ${/silence_\w+/.exec(muted)[0]} --by Ada`);
  await show('alerts test', 'alerts test on-call');
  await show('alerts replay', 'alerts replay');
  await show('alerts backtest', 'alerts backtest --ratio 2 --min-credits 5000', PIPE);
  await show('status', 'status');
}

async function sendOn({ show, type, write, settings, outlet }) {
  const secret = `whsec_${Buffer.from('the secret of an outlet').toString('base64')}`;
  write('usage-ledger.yml', { ...settings, outlets: [{ ...outlet, secret, customer: 'external_ref' }] });
  await show('outlets start', 'outlets start billing --from 2026-03');
  await type('outlets start billing --from 2026-03 --yes');
  await show('outlets push', 'outlets push');
  await show('outlets status', 'outlets status');
  await show('outlets check', 'outlets check 2026-03');
  await show('outlets pause', 'outlets pause billing --note "price change"');
  await show('outlets resume', 'outlets resume billing');
  await show('outlets settle', 'outlets settle billing');
  write('usage-ledger.yml', settings);
}

async function keep({ show }) {
  await show('verify', 'verify', PIPE);
  await show('backup', 'backup ledger-copy.db', PIPE);
  await show('reopen', 'reopen 2026-02 --by "Ada Byron" --note "credit note for acme was missing"');
  await show('rates clear', 'rates clear', { cut: /Period[\s\S]*(?=nothing)/ });
  await show('tenants forget', 'tenants forget acme --yes');
  await show('workspace end', 'workspace end ws-123 --note "contract ended in October"');
  await show('workspace resume', 'workspace resume ws-123 --note "ended by mistake"');
  const created = await show('dashboard create', 'dashboard create --title "Usage by team"');
  await show('embed-token', `embed-token --dashboard ${/dashboard (\S+) in/.exec(created)[1]}`);
  const meanwhile = async () => {
    await show('open', 'open');
    await show('reload', 'reload');
  };
  await show('daemon', 'daemon', { until: 'ready version', meanwhile, cut: /(?<=ready version.*\n)[\s\S]*/ });
  await show('mcp', 'mcp', { until: 'serving' });
  await show('restore', 'restore ledger-copy.db', { ...PIPE, cut: /(?<=Z\n)previous head.*/ });
}

function card(name, price) {
  return { name, from_period: '2026-01', currency: 'EUR', price_per_credit: price, minimum: '50.00' };
}

function figures(credits) {
  return { credits_used: credits, request_count: Math.round(credits / 8) };
}

/** One command line, both outputs in their order. What would run for ever ends once `until` was printed, after `meanwhile`. */
async function run(line, { folder, clock, pipe = false, until, meanwhile }) {
  let out = '';
  const begun = Promise.withResolvers();
  const output = {
    write(text) {
      out += text;
      if (until !== undefined && text.includes(until)) begun.resolve();
    },
    isTTY: !pipe,
    columns: WIDTH,
  };
  const argv = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
  const logger = meanwhile === undefined ? createLogger({ level: 'silent' }) : undefined;
  const ended = main(argv, {
    stdout: output,
    stderr: output,
    env: { NO_COLOR: '1', PATH: process.env.PATH },
    cwd: folder,
    overrides: { clock, openWriter, logger },
  });
  if (until !== undefined) {
    await Promise.race([begun.promise, ended]);
    try {
      await meanwhile?.();
    } finally {
      process.emit('SIGTERM', 'SIGTERM');
    }
  }
  return { code: await ended, out };
}

/** A writer in this process, where chance has the seed. */
async function openWriter(start) {
  const { session, migration } = openSession(start, {});
  const { promise: ended, resolve } = Promise.withResolvers();
  return createWriter({
    migration,
    ended,
    call: async (name, args) => structuredClone(execute(session, name, structuredClone(args))),
    async close() {
      closeForWriting(session.connection);
      resolve(null);
    },
  });
}

function seedChance() {
  let drawn = 0;
  systemRandomness.fraction = () => 0.5;
  systemRandomness.bytes = (count) => {
    drawn += 1;
    return Buffer.alloc(count, createHash('sha512').update(`draw ${drawn}`).digest());
  };
}

/** The key that signs the heads; one that the program made would be another each time. */
function writeKey(folder) {
  const seed = createHash('sha256').update('the key of the examples').digest();
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'checkpoint.key'), key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
}

/** Takes all messages and events. */
async function startReceiver() {
  const server = createServer((request, response) => request.resume().on('end', () => response.writeHead(204).end()));
  const port = await portOf(server);
  return { port, url: `http://127.0.0.1:${port}/usage`, close: () => server.close() };
}

async function freePort() {
  const server = createServer();
  const port = await portOf(server);
  server.close();
  return port;
}

async function portOf(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

/** With a line `...` in the place of what `cut` fits. */
function shortened(text, { cut = /(?!)/ }) {
  const shorter = text.replaceAll('\r\n', '\n').replace(cut, '...\n');
  return shorter
    .replaceAll(/ +$/gm, '')
    .replaceAll(/^\.\.\.\n\n/gm, '...\n')
    .trimEnd();
}
