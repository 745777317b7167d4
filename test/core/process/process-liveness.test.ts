import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { isProcessRunning, isStillRunning, readProcessStart } from '../../../src/core/process/process-liveness.ts';

test('a process runs until it has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)']);
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  expect(isProcessRunning(pid)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessRunning(pid)).toBe(false);
});

test('a process of another user is running', () => {
  expect(isProcessRunning(1)).toBe(true);
});

test('a process is distinguished from a later one with the same id', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const start = readProcessStart(pid);
  expect(start).toMatch(/^[\da-f-]{36}:\d+$/);
  expect(isStillRunning(pid, start)).toBe(true);
  expect(isStillRunning(process.pid, start)).toBe(false);
  expect(isStillRunning(process.pid, null)).toBe(true);
});

test('a process that has ended without being reaped does not run', async () => {
  // The shell starts a child, then execs a program that never reaps it.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [text] = (await once(parent.stdout, 'data')) as [Buffer];
  const zombie = Number(text);
  await expect.poll(() => isProcessRunning(zombie)).toBe(false);
  expect(() => process.kill(zombie, 0)).not.toThrow();
});
