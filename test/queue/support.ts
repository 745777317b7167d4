import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLogger, type Logger } from '../../src/core/logger.ts';
import type { JobHandlers } from '../../src/queue/jobs.ts';
import type { RedisTarget } from '../../src/queue/redis/connection.ts';

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'queue-'));
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

export function uniqueLedgerId(): string {
  return randomUUID().slice(0, 8);
}

/** A logger whose lines can be read. */
export function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger({ level: 'debug', destination }), lines };
}

/** Handlers that do nothing, with some of them replaced. */
export function handlersWith(some: Partial<JobHandlers>): JobHandlers {
  return { sync: async () => null, deliver: async () => null, ...some };
}

/** Waits until the condition holds; fails after `deadlineMs` with what was waited for. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 8000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await delay(10);
  }
}

/** A plain client, to look at Redis from outside. */
export function clientOf(target: RedisTarget): Redis {
  if (target.kind !== 'socket') throw new Error('a socket is expected');
  return new Redis(target.path);
}

/** A promise together with what settles it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A TCP port of the loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a TCP address is expected');
  return address.port;
}
