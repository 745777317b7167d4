import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { PublishTarget } from '../../src/publish/in-postgres.ts';
import { eventually } from './eventually.ts';

/** Debian keeps the programs of each version apart. */
const DEBIAN_FOLDER = '/usr/lib/postgresql';
const CACHE = join(import.meta.dirname, '../../node_modules/.cache');

/** A connection of a reader, or of somebody who writes by hand; integers are bigints. */
export interface Reader {
  query<Row = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface PostgresServer {
  folder: string;
  /** The process of the server itself. */
  readonly pid: number;
  /** Settings for one schema of it. */
  target(schema: string): PublishTarget;
  /** A connection as the owner of everything; closed by the caller. */
  connect(schema: string, user?: string): Promise<Reader>;
  start(): Promise<void>;
  /** Ends it as `pg_ctl` names the ways: after its clients, at once, or without cleaning up. */
  stop(mode?: 'smart' | 'fast' | 'immediate'): Promise<void>;
  /** SIGKILL for the server; its children follow it. */
  kill(): Promise<void>;
  /** Holds it and all its children as they are: they answer nothing, and their connections stand. */
  freeze(): void;
  thaw(): void;
  /** Stops it and takes its folder away. */
  remove(): Promise<void>;
}

/** A server of its own on a unix socket, in a folder of its own. Postgres refuses root, who lends it the user `postgres`. */
export async function startPostgres({
  options = [] as string[],
  folderParent = tmpdir(),
  /** Names its socket, and is listened on where the options say `listen_addresses`. */
  port = 5432,
} = {}): Promise<PostgresServer> {
  const bin = programs();
  const folder = mkdtempSync(join(folderParent, 'ul-pg-'));
  const data = join(folder, 'data');
  const user = serverUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const identity = user ?? {};
  const cwd = folder;
  execFileSync('cp', ['-a', emptyData(bin, user), data]);
  let child: ChildProcess | null = null;
  const target = (schema: string): PublishTarget => ({
    url: `postgres:///postgres?user=usage_ledger&host=${encodeURIComponent(folder)}${port === 5432 ? '' : `&port=${port}`}`,
    schema,
    tls: 'off',
  });
  const ended = async (): Promise<void> => {
    const running = child;
    if (running !== null && running.exitCode === null && running.signalCode === null) {
      await new Promise((resolve) => running.once('exit', resolve));
    }
    child = null;
  };
  const server: PostgresServer = {
    folder,
    get pid() {
      if (child?.pid === undefined) throw new Error('the server does not run');
      return child.pid;
    },
    target,
    connect: (schema, user = 'usage_ledger') =>
      connectTo(target(schema).url.replace('user=usage_ledger', `user=${user}`), schema),
    async start() {
      const begin = () =>
        spawn(
          join(bin, 'postgres'),
          [
            ...['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'max_wal_size=2GB'],
            // At length each of hundreds of histories keeps its reader until the end.
            ...['-c', 'max_connections=1000', '-c', 'jit=off', '-c', `port=${port}`, ...options],
          ],
          { ...identity, cwd, stdio: 'ignore' },
        );
      await eventually(async () => {
        // The children of one that was killed keep its memory for a moment, and the next one ends at once.
        if (child === null || child.exitCode !== null || child.signalCode !== null) child = begin();
        const client = await server.connect('public');
        await client.close();
      }, 60_000);
    },
    async stop(mode = 'fast') {
      const signals = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' } as const;
      child?.kill(signals[mode]);
      await ended();
    },
    async kill() {
      child?.kill('SIGKILL');
      await ended();
    },
    freeze: () => signalAll(server.pid, 'SIGSTOP'),
    thaw: () => signalAll(server.pid, 'SIGCONT'),
    async remove() {
      if (child?.pid !== undefined) signalAll(child.pid, 'SIGCONT');
      await server.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

export async function connectTo(url: string, schema: string): Promise<Reader> {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.INT8 ? (text: string) => BigInt(text) : pg.types.getTypeParser(oid, format as 'text'),
  };
  const client = new pg.Client({ connectionString: url, types, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`SET search_path TO ${pg.escapeIdentifier(schema)}`);
  return {
    query: async <Row>(sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows as Row[],
    close: () => client.end(),
  };
}

/** The files of a server that holds nothing, kept from run to run: each server begins with a copy of them. */
function emptyData(bin: string, user: { uid: number; gid: number } | null): string {
  const [version] = /\d[\d.]*/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })) ?? [];
  const kept = join(CACHE, `postgres-${version}-of-${user?.uid ?? 'us'}`);
  if (existsSync(kept)) return kept;
  const folder = mkdtempSync(join(tmpdir(), 'ul-pg-'));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'usage_ledger', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8'],
    // What it complains about is part of the error.
    { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // Nobody sees half of it, and of two that make it at once the first has made it.
  const part = `${kept}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  execFileSync('cp', ['-a', data, part]);
  try {
    renameSync(part, kept);
  } catch {
    rmSync(part, { recursive: true });
  }
  rmSync(folder, { recursive: true });
  return kept;
}

/** The server first: it starts no more children then. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  process.kill(pid, signal);
  for (const child of childrenOf(pid)) {
    try {
      process.kill(child, signal);
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function childrenOf(pid: number): number[] {
  const listing = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const pairs = listing
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

function programs(): string {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : [];
  const found = versions
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
  if (found !== undefined) return found;
  const path = execFileSync('sh', ['-c', 'command -v initdb'], { encoding: 'utf8' }).trim();
  return join(path, '..');
}

/** Whom the server's files belong to: root may not run it, and lends it the user `postgres`; null: the user of the test. */
export function serverUser(): { uid: number; gid: number } | null {
  return process.getuid?.() === 0 ? idsOf('postgres') : null;
}

function idsOf(user: string): { uid: number; gid: number } {
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
