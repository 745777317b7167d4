import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withFolderLock } from '../../src/queue/redis/folder-lock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const moduleUrl = new URL('../../build/queue/redis/folder-lock.js', import.meta.url).href;

/** A process that takes the lock, runs `body` (JavaScript) inside it and says "inside" first. */
function startHolder(path: string, body: string): ChildProcess {
  const script = `
    import { appendFileSync } from 'node:fs';
    import { setTimeout as delay } from 'node:timers/promises';
    const { withFolderLock } = await import(${JSON.stringify(moduleUrl)});
    await withFolderLock(${JSON.stringify(path)}, 60_000, async () => {
      process.stdout.write('inside');
      ${body}
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function untilInside(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error('the holder has no stdout');
  await once(child.stdout, 'data');
}

const FOR_EVER = 'await delay(600_000);';

test('is held by one process at a time', async () => {
  const folder = temporaryFolder();
  const log = join(folder, 'log');
  writeFileSync(log, '');
  const turn = `
    appendFileSync(${JSON.stringify(log)}, '+');
    await delay(100);
    appendFileSync(${JSON.stringify(log)}, '-');`;
  const holders = Array.from({ length: 4 }, () => startHolder(join(folder, 'lock'), turn));
  await Promise.all(holders.map((holder) => once(holder, 'exit')));
  expect(readFileSync(log, 'utf8')).toBe('+-'.repeat(4));
});

test('is held by one caller of a process at a time', async () => {
  const path = join(temporaryFolder(), 'lock');
  let log = '';
  const turn = () =>
    withFolderLock(path, 60_000, async () => {
      log += '+';
      await new Promise(setImmediate);
      log += '-';
    });
  await Promise.all([turn(), turn(), turn()]);
  expect(log).toBe('+-'.repeat(3));
});

test("is free at once when its holder is killed, whatever process gets the holder's id next", async () => {
  const path = join(temporaryFolder(), 'lock');
  const holder = startHolder(path, FOR_EVER);
  await untilInside(holder);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(await withFolderLock(path, 0, async () => 'taken')).toBe('taken');
});

test('stays with a holder that lives, however old its file is', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'lock');
  await untilInside(startHolder(path, FOR_EVER));
  for (const file of readdirSync(folder)) utimesSync(join(folder, file), 0, 0);
  await expect(withFolderLock(path, 300, async () => 'taken')).rejects.toMatchObject({
    code: 'lock_timeout',
    retryable: true,
    hint: expect.stringContaining('another daemon'),
  });
});

test('is released when the work fails', async () => {
  const path = join(temporaryFolder(), 'lock');
  const failing = withFolderLock(path, 1_000, () => Promise.reject(new Error('no luck')));
  await expect(failing).rejects.toThrow('no luck');
  expect(await withFolderLock(path, 0, async () => 'taken')).toBe('taken');
});
