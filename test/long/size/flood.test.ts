import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type LargeDaemon, median, startLargeDaemon } from './large-daemon.ts';
import { MANY_RECORDS, MAX_SLOWDOWN } from './sizes.ts';

const ROUNDS = 5;
const FLOODING_SOCKETS = 16;
const SLOW_SOCKETS = 50;
const HUGE_BYTES = 100 * 1024 * 1024;

test('callers who flood, send slowly or send 100 MB do not slow a sync down', async () => {
  const large = await startLargeDaemon({ ...MANY_RECORDS, workspaces: 1, jumps: 0 });
  const slowdowns: Record<string, number> = {};
  for (const [name, disturb] of Object.entries({ flood, sendSlowly, sendHuge })) {
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const alone = await large.sync();
      const disturbing = new AbortController();
      const disturbed = disturb(large, disturbing.signal);
      ratios.push((await large.sync()) / alone);
      disturbing.abort();
      await disturbed;
    }
    slowdowns[name] = median(ratios);
  }
  process.stdout.write(`${JSON.stringify(slowdowns)}\n`);
  expect(Object.entries(slowdowns).filter(([, ratio]) => ratio > MAX_SLOWDOWN)).toEqual([]);
});

/** One token on many sockets, as fast as the answers come. */
async function flood({ ask }: LargeDaemon, signal: AbortSignal): Promise<void> {
  const onSocket = async (): Promise<void> => {
    while (!signal.aborted) await ask('/api/v1/head', { drop: true });
  };
  await Promise.all(Array.from({ length: FLOODING_SOCKETS }, onSocket));
}

/** Bodies that come byte by byte, and never as a whole. */
async function sendSlowly({ daemon }: LargeDaemon, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(daemon.url);
  const sockets = Array.from({ length: SLOW_SOCKETS }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(`POST /api/v1/rates/check HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`);
    socket.write(`content-length: ${HUGE_BYTES}\r\n\r\n`);
    return socket;
  });
  while (!signal.aborted) {
    for (const socket of sockets) if (socket.writable) socket.write(' ');
    await sleep(100, undefined, { signal }).catch(() => undefined);
  }
  for (const socket of sockets) socket.destroy();
}

/** Bodies of 100 MB, one after the other; the server refuses them before it has read them. */
async function sendHuge({ ask }: LargeDaemon, signal: AbortSignal): Promise<void> {
  const body = ' '.repeat(HUGE_BYTES);
  while (!signal.aborted) {
    await ask('/api/v1/rates/check', { method: 'POST', body, drop: true }).catch(() => null);
    await sleep(100);
  }
}
