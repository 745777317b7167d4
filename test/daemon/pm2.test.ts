import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { privateRedisFolder } from '../../src/daemon/daemon.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { eventually } from '../support/eventually.ts';

const PM2 = fileURLToPath(new URL('../../node_modules/.bin/pm2', import.meta.url));
const OWN_NODE = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));
const ECOSYSTEM = fileURLToPath(new URL('../../ecosystem.config.cjs', import.meta.url));
const run = promisify(execFile);

let folder: string;
let sandbox: Sandbox;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ul-pm2-'));
  sandbox = await startSandbox();
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `http: { port: 0 }
workspaces:
  - id: ws-sandbox
    name: Sandbox
    base_url: ${sandbox.url}
    embed_url: ${sandbox.url}
    api_key_id: ak_sandbox
    secret_key: sk_sandbox_not_a_secret
    cron: "* * * * *"
`,
    { mode: 0o600 },
  );
});

afterAll(async () => {
  await pm2('kill').catch(() => undefined);
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** pm2 with a home of its own, so that nobody else's processes are seen or touched. */
async function pm2(...args: string[]): Promise<string> {
  const env = { ...process.env, PM2_HOME: join(folder, 'pm2'), NO_COLOR: '1' };
  const { stdout } = await run(process.execPath, [PM2, ...args], { cwd: folder, env });
  return stdout;
}

interface Listed {
  pid: number;
  pm2_env: { status: string; restart_time: number; exit_code?: number };
}

async function listed(): Promise<Listed> {
  const out = await pm2('jlist');
  const [app] = JSON.parse(out.slice(out.indexOf('[{'))) as Listed[];
  if (app === undefined) throw new Error('pm2 runs nothing');
  return app;
}

function appliedSlots(): string[] {
  const path = join(folder, 'data', 'ledger.db');
  if (!existsSync(path)) return [];
  const reader = openReader(path);
  try {
    const slots = reader.connection
      .prepare("SELECT slot FROM finance_runs WHERE status = 'applied' ORDER BY slot")
      .pluck();
    return slots.all() as string[];
  } finally {
    reader.close();
  }
}

interface LogLine {
  level?: string;
  msg?: string;
  adopted?: boolean;
}

function logLines(stream: 'out' | 'error' = 'out'): LogLine[] {
  const path = join(folder, 'pm2', 'logs', `usage-ledger-${stream}.log`);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('under pm2 the daemon becomes ready, ticks, survives kill -9 and stops gracefully', {
  timeout: 300_000,
}, async () => {
  await pm2('start', ECOSYSTEM);
  const started = await listed();
  expect(started.pm2_env.status).toBe('online');
  expect(readlinkSync(`/proc/${started.pid}/exe`)).toBe(realpathSync(OWN_NODE));
  // `start` returned, and that is only after the daemon had said that it is ready.
  expect(logLines().some((line) => line.msg === 'ready')).toBe(true);

  await eventually(() => expect(appliedSlots().length).toBeGreaterThanOrEqual(1), 60_000);
  const beforeKill = appliedSlots();

  process.kill(started.pid, 'SIGKILL');
  await eventually(async () => {
    const again = await listed();
    expect(again.pm2_env).toMatchObject({ status: 'online', restart_time: 1 });
    expect(again.pid).not.toBe(started.pid);
  }, 60_000);
  await eventually(() => expect(logLines().filter((line) => line.msg === 'ready')).toHaveLength(2), 60_000);
  // The private Redis outlived the daemon and was taken over, not started a second time.
  expect(logLines().filter((line) => line.adopted === true)).toHaveLength(1);
  // The next minute's tick is worked off by the restarted daemon.
  await eventually(() => expect(appliedSlots().length).toBeGreaterThan(beforeKill.length), 90_000);

  const { pid } = await listed();
  await pm2('stop', 'usage-ledger');
  const stopped = await listed();
  expect(stopped.pm2_env.status).toBe('stopped');
  expect(isAlive(pid)).toBe(false);
  // pm2 writes what it has been told a moment later.
  await eventually(() => expect(logLines().at(-1)?.msg).toBe('stopped'));
  expect(logLines('error').filter(({ level }) => level !== 'error' && level !== 'fatal')).toEqual([]);
  expect(existsSync(join(privateRedisFolder(join(folder, 'data', 'ledger.db')), 'redis.sock'))).toBe(false);
});
