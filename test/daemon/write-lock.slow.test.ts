import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { createHealthProbe } from '../../src/daemon/http/probe.ts';
import { readiness } from '../../src/daemon/http/readiness.ts';
import { createWorld, FIRST, parseJson } from '../commands/world.ts';
import { rejection } from '../support/rejection.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

interface Holder {
  words: string;
  release(): Promise<void>;
}

/** A shell that somebody has left open in the middle of a change. */
async function lockByShell(path: string): Promise<Holder> {
  const shell = spawn('sqlite3', ['-batch', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(shell, 'exit');
  const release = async () => {
    shell.stdin.end();
    await exited;
  };
  onTestFinished(release);
  shell.stdin.write('BEGIN IMMEDIATE;\nSELECT 1;\n');
  await once(shell.stdout, 'data');
  return { words: `process ${shell.pid} (sqlite3)`, release };
}

it('is named by status and doctor while another process holds it', { timeout: 60_000 }, async () => {
  const world = await createWorld(FIRST);
  expect((await world.run('sync')).code).toBe(0);
  const status = async () => parseJson((await world.run('status', '--json')).out).ledger.locked_by;
  const ledger = async () =>
    parseJson((await world.run('doctor', '--json')).out).checks.filter(
      ({ check }: { check: string }) => check === 'ledger',
    );
  expect(await status()).toBe(null);
  const { words, release } = await lockByShell(world.ledgerPath);
  expect(await status()).toBe(words);
  expect((await world.run('status')).out).toContain(`ledger  locked by ${words}`);
  expect(await ledger()).toMatchObject([
    { status: 'fail', message: expect.stringContaining(words), remedy: expect.stringContaining('end') },
  ]);
  await release();
  expect(await status()).toBe(null);
  expect(await ledger()).toMatchObject([{ status: 'ok' }]);
});

it('makes the daemon not ready from the first refused write until the lock is released', {
  timeout: 60_000,
}, async () => {
  const { context, config, sync } = await startFixture({ thread: true });
  await sync();
  const queue = { redisUp: true, redisFault: null, counts: () => Promise.reject(new Error('not asked')) };
  const nothing = (): null => null;
  const probe = createHealthProbe(context, queue, nothing, nothing);
  const { words, release } = await lockByShell(config.ledger.path);
  expect(await rejection(sync())).toMatchObject({ code: 'ledger_busy' });
  expect(readiness(probe)).toMatchObject({
    status: 'not_ready',
    reasons: [{ code: 'ledger_unwritable', message: `cannot write the ledger: ${words} holds the write lock` }],
  });
  await release();
  expect(readiness(probe)).toEqual({ status: 'ready' });
  await sync();
});
