import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { LedgerConnection } from '../../src/ledger/file/open.ts';
import { Publisher } from '../../src/publish/publisher.ts';
import { ReplicaError } from '../../src/publish/replica-error.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { expectSameViews } from './compare-views.ts';

/** How often each thing happens; the long suite says more. */
const KILLS = Number(process.env.REPLICA_KILLS ?? 2);
const SERVER_KILLS = Number(process.env.REPLICA_SERVER_KILLS ?? 3);
const CUTS = Number(process.env.REPLICA_CUTS ?? 2);
const TENANTS = 3_000;
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

interface Played {
  connection: LedgerConnection;
  path: string;
  /** A run that changes about a third of the tenants. */
  run(): void;
}

function play(): Played {
  const { connection, path } = openLedger();
  let round = 0;
  return {
    connection,
    path,
    run() {
      round += 1;
      const records = Array.from({ length: TENANTS }, (_, index) =>
        usageRecord(`tenant-${index}`, index + (index % 3 === round % 3 ? round : round - 1) * 7),
      );
      runWith(connection, records, { nowMs: NOON + round * 60_000 });
    },
  };
}

/** Looks again and again, from a connection of its own, whether anybody could see half of something. */
function poll(schema: string): { stop(): Promise<number> } {
  let going = true;
  let looks = 0;
  const look = async (): Promise<void> => {
    while (going) {
      const client = await server.connect(schema).catch(() => null);
      try {
        for (; client !== null && going; looks += 1) expectWhole(await client.query<Seen>(WHOLE));
      } catch (error) {
        // Before the first publish there is nothing to look at, and a server that was killed comes back.
        if (!(error instanceof ReplicaError)) throw error;
      } finally {
        await client?.close();
      }
      await sleep(20);
    }
  };
  const looking = look();
  looking.catch(() => undefined);
  return {
    async stop() {
      going = false;
      await looking;
      return looks;
    },
  };
}

interface Seen {
  last_entry_id: bigint;
  entries: bigint;
  highest: bigint | null;
  delta: bigint | null;
  state: bigint | null;
  link: bigint | null;
  position: bigint;
}

const WHOLE = `SELECT l.last_entry_id, l.position,
  (SELECT count(*) FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS entries,
  (SELECT max(entry_id) FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS highest,
  (SELECT sum(credits_delta)::bigint FROM usage_entries e WHERE e.ledger_key = l.ledger_key) AS delta,
  (SELECT sum(credits_used)::bigint FROM tenant_usage u WHERE u.ledger_key = l.ledger_key) AS state,
  (SELECT max(applied_seq) FROM runs r WHERE r.ledger_key = l.ledger_key) AS link FROM ledgers l`;

function expectWhole(rows: Seen[]): void {
  for (const { last_entry_id, entries, highest, delta, state, link, position } of rows) {
    expect([entries, highest ?? 0n, state, link ?? 0n]).toEqual([last_entry_id, last_entry_id, delta, position]);
  }
}

async function expectAllThere({ connection, path }: Played, schema: string): Promise<void> {
  const publisher = new Publisher(server.settings(schema), path);
  const client = await server.connect(schema);
  try {
    await publisher.publish({ nowMs: NOON });
    await expectSameTables(connection, client, schema);
    await expectSameViews(connection, client, schema);
  } finally {
    await Promise.all([publisher.close(), client.close()]);
  }
}

test(`a publisher that is killed ${KILLS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + KILLS * 8_000,
}, async () => {
  const world = play();
  const folder = temporaryFolder();
  const workspace =
    'id: ws-1, base_url: "http://127.0.0.1:1", embed_url: "http://127.0.0.1:1", api_key_id: a, secret_key: b';
  const { url } = server.settings('killed');
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `ledger: { path: "${world.path}" }\npublish: { url: "${url}", schema: killed }\nworkspaces: [{ ${workspace} }]\n`,
    { mode: 0o600 },
  );
  world.run();
  await expectAllThere(world, 'killed');
  const reader = poll('killed');
  let died = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    world.run();
    const child = spawn(process.execPath, [CLI, 'publish'], { cwd: folder, stdio: 'ignore' });
    const ended = once(child, 'exit');
    // From before it connects until after it has committed.
    await Promise.race([sleep(200 + ((kill * 137) % 900)), ended]);
    if (isAlive(child)) died += 1;
    child.kill('SIGKILL');
    await ended;
  }
  expect(await reader.stop()).toBeGreaterThan(0);
  expect(died).toBeGreaterThan(KILLS / 4);
  await expectAllThere(world, 'killed');
});

test(`a Postgres that is killed, shut down at once or frozen ${SERVER_KILLS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + SERVER_KILLS * 15_000,
}, async () => {
  const world = play();
  world.run();
  await expectAllThere(world, 'server');
  const reader = poll('server');
  const publisher = new Publisher(server.settings('server'), world.path);
  onTestFinished(() => publisher.close());
  for (let round = 0; round < SERVER_KILLS; round += 1) {
    world.run();
    const publishing = publisher.publish({ nowMs: NOON }).catch((error: unknown) => error);
    await sleep((round * 53) % 250);
    if (round % 3 === 0) await server.kill();
    else if (round % 3 === 1) await server.stop('immediate');
    else {
      process.kill(server.pid, 'SIGSTOP');
      await sleep(200);
      process.kill(server.pid, 'SIGCONT');
    }
    if (round % 3 !== 2) await server.start();
    const outcome = await publishing;
    if (outcome instanceof Error) expect(outcome, outcome.message).toMatchObject({ retryable: true });
  }
  expect(await reader.stop()).toBeGreaterThan(0);
  await expectAllThere(world, 'server');
});

test(`a network that is cut ${CUTS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + CUTS * 8_000,
}, async () => {
  const world = play();
  world.run();
  await expectAllThere(world, 'cut');
  const { port, cut } = await proxyTo(join(server.folder, '.s.PGSQL.5432'));
  const url = `postgres://usage_ledger@127.0.0.1:${port}/postgres`;
  const publisher = new Publisher({ url, schema: 'cut', tls: 'off' }, world.path);
  onTestFinished(() => publisher.close());
  const reader = poll('cut');
  for (let round = 0; round < CUTS; round += 1) {
    world.run();
    const publishing = publisher.publish({ nowMs: NOON }).catch((error: unknown) => error);
    await sleep((round * 41) % 200);
    cut();
    const outcome = await publishing;
    if (outcome instanceof Error) expect(outcome, outcome.message).toMatchObject({ retryable: true });
  }
  expect(await reader.stop()).toBeGreaterThan(0);
  await expectAllThere(world, 'cut');
});

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** A port whose connections go to a unix socket until they are cut. */
async function proxyTo(socketPath: string): Promise<{ port: number; cut(): void }> {
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(socketPath);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
