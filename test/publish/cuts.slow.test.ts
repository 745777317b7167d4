import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import type { PublishTarget } from '../../src/publish/in-postgres.ts';
import { type PublishReport, publishLedger } from '../../src/publish/publish-ledger.ts';
import { configure, NOWHERE } from '../support/daemon-folder.ts';
import { CLI } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameViews } from './compare-views.ts';

/** How often each thing happens; the long suite says more. */
const KILLS = Number(process.env.PUBLISH_KILLS ?? 2);
const SERVER_KILLS = Number(process.env.PUBLISH_SERVER_KILLS ?? 3);
const CUTS = Number(process.env.PUBLISH_CUTS ?? 2);

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

test(`a publisher that is killed ${KILLS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + KILLS * 8_000,
}, async () => {
  const world = play();
  const { url } = server.target('killed');
  const folder = configure(temporaryFolder(), {
    ledger: { path: world.path },
    publish: { url, schema: 'killed' },
    workspaces: [NOWHERE],
  });
  await world.run();
  await expectAllThere(world, 'killed');
  const reader = poll('killed');
  let died = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await world.run();
    const child = spawn(process.execPath, [CLI, 'publish'], { cwd: folder, stdio: 'ignore' });
    const ended = once(child, 'exit');
    // From before it connects until after it has committed.
    await Promise.race([sleep(200 + ((kill * 137) % 400)), ended]);
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
  await world.run();
  await expectAllThere(world, 'server');
  const reader = poll('server');
  for (let round = 0; round < SERVER_KILLS; round += 1) {
    await world.run();
    const publishing = publish(server.target('server'), world).catch((error: unknown) => error);
    await sleep((round * 53) % 250);
    if (round % 3 === 0) await server.kill();
    else if (round % 3 === 1) await server.stop('immediate');
    else {
      server.freeze();
      await sleep(200);
      server.thaw();
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
  await world.run();
  await expectAllThere(world, 'cut');
  const { port, cut } = await proxyTo(join(server.folder, '.s.PGSQL.5432'));
  const url = `postgres://usage_ledger@127.0.0.1:${port}/postgres`;
  const reader = poll('cut');
  for (let round = 0; round < CUTS; round += 1) {
    await world.run();
    const publishing = publish({ url, schema: 'cut', tls: 'off' }, world).catch((error: unknown) => error);
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

const TENANTS = 3_000;

interface Played {
  connection: LedgerDb;
  path: string;
  /** A run that changes about a third of the tenants. */
  run(): Promise<void>;
}

/** A ledger that grows by runs of the test. */
function play(): Played {
  const { connection, path } = openLedger();
  let round = 0;
  return {
    connection,
    path,
    async run() {
      round += 1;
      const records = Array.from({ length: TENANTS }, (_, index) =>
        usageRecord(`tenant-${index}`, index + (index % 3 === round % 3 ? round : round - 1) * 7),
      );
      await runWith(connection, records, { nowMs: NOON + round * 60_000 });
    },
  };
}

function publish(target: PublishTarget, { path }: Played): Promise<PublishReport> {
  return publishLedger({ target, ledgerPath: path, nowMs: NOON });
}

/** Looks again and again, from a connection of its own, whether anybody could see half of something. */
function poll(schema: string): { stop(): Promise<number> } {
  let going = true;
  let looks = 0;
  const look = async (): Promise<void> => {
    while (going) {
      const reader = await server.connect(schema).catch(() => null);
      // A server that was killed comes back.
      const lost = (): null => null;
      for (; reader !== null && going; looks += 1) {
        const rows = await reader.query<Seen>(WHOLE).catch(lost);
        if (rows === null) break;
        expectWhole(rows);
      }
      await reader?.close().catch(lost);
      await sleep(20);
    }
  };
  const looking = look();
  looking.catch(() => undefined);
  return {
    async stop() {
      // Or it would have seen nothing.
      await Promise.race([looking, eventually(() => expect(looks).toBeGreaterThan(0))]);
      going = false;
      await looking;
      return looks;
    },
  };
}

type Seen = Record<'last_entry' | 'position' | 'entries' | 'delta' | 'state' | 'link', bigint>;

const WHOLE = `SELECT (l.marks ->> 'usage_entries')::bigint AS last_entry, l.position,
  (SELECT count(*) FROM finance_history) AS entries,
  (SELECT sum(credits_delta)::bigint FROM finance_history) AS delta,
  (SELECT sum(credits_used)::bigint FROM finance_usage) AS state,
  (SELECT max(applied_seq) FROM runs) AS link FROM ledgers l`;

function expectWhole(rows: Seen[]): void {
  for (const { last_entry, entries, delta, state, link, position } of rows) {
    expect([entries, state, link]).toEqual([last_entry, delta, position]);
  }
}

/** Publishes what is left, and compares everything. */
async function expectAllThere(world: Played, schema: string): Promise<void> {
  const { differences } = await publishLedger({
    target: server.target(schema),
    ledgerPath: world.path,
    nowMs: NOON,
    compare: 'check',
  });
  expect(differences).toEqual([]);
  const reader = await server.connect(schema);
  await expectSameViews(world.connection, reader, schema);
  await reader.close();
}
