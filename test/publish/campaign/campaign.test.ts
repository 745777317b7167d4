import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Publisher } from '../../../src/publish/publisher.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { expectAllThere, play, poll } from './campaign-world.ts';

/** How often each thing happens; the long suite says more. */
const KILLS = Number(process.env.REPLICA_KILLS ?? 2);
const SERVER_KILLS = Number(process.env.REPLICA_SERVER_KILLS ?? 3);
const CUTS = Number(process.env.REPLICA_CUTS ?? 2);
const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

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
  await world.run();
  await expectAllThere(server, world, 'killed');
  const reader = poll(server, 'killed');
  let died = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await world.run();
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
  await expectAllThere(server, world, 'killed');
});

test(`a Postgres that is killed, shut down at once or frozen ${SERVER_KILLS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + SERVER_KILLS * 15_000,
}, async () => {
  const world = play();
  await world.run();
  await expectAllThere(server, world, 'server');
  const reader = poll(server, 'server');
  const publisher = new Publisher(server.settings('server'), world.path);
  onTestFinished(() => publisher.close());
  for (let round = 0; round < SERVER_KILLS; round += 1) {
    await world.run();
    const publishing = publisher.publish({ nowMs: NOON }).catch((error: unknown) => error);
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
  await expectAllThere(server, world, 'server');
});

test(`a network that is cut ${CUTS} times loses, doubles and half-shows nothing`, {
  timeout: 60_000 + CUTS * 8_000,
}, async () => {
  const world = play();
  await world.run();
  await expectAllThere(server, world, 'cut');
  const { port, cut } = await proxyTo(join(server.folder, '.s.PGSQL.5432'));
  const url = `postgres://usage_ledger@127.0.0.1:${port}/postgres`;
  const publisher = new Publisher({ url, schema: 'cut', tls: 'off' }, world.path);
  onTestFinished(() => publisher.close());
  const reader = poll(server, 'cut');
  for (let round = 0; round < CUTS; round += 1) {
    await world.run();
    const publishing = publisher.publish({ nowMs: NOON }).catch((error: unknown) => error);
    await sleep((round * 41) % 200);
    cut();
    const outcome = await publishing;
    if (outcome instanceof Error) expect(outcome, outcome.message).toMatchObject({ retryable: true });
  }
  expect(await reader.stop()).toBeGreaterThan(0);
  await expectAllThere(server, world, 'cut');
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
