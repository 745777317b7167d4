import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { CLI } from '../support/daemon-process.ts';

export function start(cwd: string, ...argv: string[]): ChildProcess & { words: { out: string; err: string } } {
  return startNode(cwd, CLI, ...argv);
}

export function startNode(cwd: string, ...argv: string[]): ReturnType<typeof start> {
  const child = spawn(process.execPath, argv, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const words = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (words.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (words.err += chunk.toString()));
  return Object.assign(child, { words });
}
