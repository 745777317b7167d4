import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { verifyLedger } from '../../../src/ledger/audit/verify/verify.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { CLI } from '../../support/daemon-process.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MONTHS = 4;

/** What strace does to the calls of a name: `when` counts them, `2+` is the second and all after it. */
export interface Injection {
  call: string;
  when: string;
  /** Such as `signal=SIGKILL` or `error=EIO`. */
  what: string;
}

/** A ledger one run behind its service, to be brought up to it under faults as often as wished. */
export interface FaultySync {
  /** Calls that one sync makes to the ledger's files, by name. */
  calls: Map<string, number>;
  /** The state before and after the run that is to come, as text. */
  before: string;
  after: string;
  /** A copy of the ledger as it was before that run. */
  fresh(): Attempt;
}

export interface Attempt {
  path: string;
  /** One sync in a process of its own; gives its exit code, null when it was killed. */
  sync(injection?: Injection): Promise<number | null>;
  /** The figures that stand in the ledger, as text. */
  figures(): string;
  faults(): string[];
  remove(): void;
}

/** Starts a service, brings a ledger up to it once, and has a part of its figures change. */
export async function startFaultySync({ root = temporaryFolder(), tenants = 300 } = {}): Promise<FaultySync> {
  const sandbox = await startSandbox({
    keepRequests: 0,
    scenario: {
      workspaces: [
        {
          id: 'ws-1',
          api_key_id: 'ak_1',
          secret_key: 'sk_not_a_secret',
          generate: { seed: 1, tenants, months: MONTHS, open_month: 'at_start' },
        },
      ],
    },
  });
  onTestFinished(() => sandbox.close());
  const origin = join(root, 'origin');
  let made = 0;
  const attemptIn = (folder: string): Attempt => {
    const path = join(folder, 'ledger.db');
    const config = join(folder, 'usage-ledger.yml');
    const defaults = { concurrency: 8, requests_per_second: 10_000 };
    daemonFolder(sandbox, { ledger: { path }, log_level: 'warn', defaults }, folder);
    return {
      path,
      sync: (injection) => run(injection, path, config, join(root, 'trace')),
      figures: () => figuresOf(path),
      faults: () => {
        const connection = openForWriting(path);
        const found = verifyLedger(connection).faults.map(({ check, message }) => `${check}: ${message}`);
        connection.close();
        return found;
      },
      remove: () => rmSync(folder, { recursive: true }),
    };
  };
  const fresh = (): Attempt => {
    made += 1;
    const folder = join(root, String(made));
    cpSync(origin, folder, { recursive: true });
    return attemptIn(folder);
  };
  mkdirSync(origin, { mode: 0o700 });
  const first = attemptIn(origin);
  if ((await first.sync()) !== 0) throw new Error('the first sync failed');
  const before = first.figures();
  const upstream = sandbox.workspace();
  const changed: [string, string][] = [];
  upstream.read({ from: null, to: null, tenantId: null, offset: 0, limit: tenants * MONTHS }, (tenant, period) => {
    changed.push([tenant.id, period]);
  });
  for (const [at, [tenantId, period]] of changed.entries()) {
    if (at % 3 !== 2) upstream.set({ tenantId, period, credits: 1_000_000 + at, requests: at });
  }
  const counted = fresh();
  if ((await counted.sync({ call: '', when: '', what: '' })) !== 0) throw new Error('a sync that is traced failed');
  const after = counted.figures();
  counted.remove();
  return { calls: countCalls(readFileSync(join(root, 'trace'), 'utf8')), before, after, fresh };
}

/** With an injection of no call the calls are only written down. */
async function run(
  injection: Injection | undefined,
  path: string,
  config: string,
  trace: string,
): Promise<number | null> {
  const command = [process.execPath, CLI, 'sync', '--config', config];
  if (injection !== undefined) {
    const { call, when, what } = injection;
    const files = ['', '-wal', '-shm'].flatMap((end) => ['-P', `${path}${end}`]);
    const inject = call === '' ? [] : ['-e', `inject=${call}:${what}:when=${when}`];
    command.unshift('strace', '-f', '-qq', '-o', trace, '-e', `trace=${CALLS.join(',')}`, ...inject, ...files);
  }
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  const [code, signal] = await once(child, 'exit');
  return signal === null && code !== 137 ? code : null;
}

/** What a process does to a file that a crash, or a broken or full disk, can stop. */
export const CALLS = ['pwrite64', 'write', 'fdatasync', 'fsync', 'ftruncate', 'fallocate', 'unlink'] as const;

function countCalls(trace: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, call = ''] of trace.matchAll(/^\d+ +(\w+)\(/gm)) counts.set(call, (counts.get(call) ?? 0) + 1);
  return counts;
}

function figuresOf(path: string): string {
  const connection = new Database(path);
  const rows = connection
    .prepare('SELECT tenant_id, period, credits_used, request_count FROM finance_usage ORDER BY 1, 2')
    .safeIntegers()
    .raw()
    .all() as unknown[][];
  connection.close();
  return rows.map((row) => row.join(' ')).join('\n');
}
