import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { daemonFolder, ONE_TICK } from '../support/daemon-folder.ts';
import { sandboxOf, socketOf, startSyncing } from './syncing-daemon.ts';

test('a signal lets the running sync finish, stops Redis and exits with 0', async () => {
  const { held, folder, daemon, view } = await startSyncing();

  daemon.child.kill('SIGINT');
  await daemon.line('stopping');
  held.release();

  expect(await daemon.exit()).toBe(0);
  expect(view.rows('SELECT status, records FROM finance_runs')).toEqual([{ status: 'applied', records: 4n }]);
  expect(daemon.lines.at(-1)?.msg).toBe('stopped');
  expect(existsSync(socketOf(folder))).toBe(false);
});

test('without redis-server on PATH the daemon reports the remedy and exits with 1', async () => {
  const sandbox = await sandboxOf();
  const folder = daemonFolder(sandbox, ONE_TICK);
  const before = process.env.PATH;
  process.env.PATH = folder;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  const errors: string[] = [];
  const stderr = { write: (text: string) => errors.push(text) };
  const listeners = () =>
    ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection'].map((name) => process.listenerCount(name));
  const listenersBefore = listeners();
  expect(await main(['daemon'], { stdout: stderr, stderr, env: {}, cwd: folder })).toBe(1);
  // Whoever runs it in a process that goes on is not ended by it later.
  expect(listeners()).toEqual(listenersBefore);
  expect(errors.join('')).toMatch(/redis-server[\s\S]*redis_url/);
});
