import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { pendingNotifications } from '../../support/messages.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { HOUR_MS, TENANTS, wordsIn, world } from '../messages/alert-words.ts';

const KIB = 1024;
const EXTREME = Math.floor(TENANTS / 3);

/** A receiver over HTTP that takes bodies of so many bytes and answers 413 to others without having read them, and what it took. */
async function receiver(mostBytes: number, refuse: (request: IncomingMessage, response: ServerResponse) => void) {
  const taken: string[] = [];
  let refused = 0;
  const server = createServer(async (request, response) => {
    if (Number(request.headers['content-length']) > mostBytes) {
      refused += 1;
      refuse(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    taken.push(Buffer.concat(chunks).toString());
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const settings = { name: 'log', url, secrets: [], allowPrivate: true, timeoutMs: 10_000 };
  const channel = createWebhookChannel(settings, { clock: systemClock });
  return { channel, taken, refused: () => refused };
}

/** Express answers and lets the connection go on; nginx answers, and closes once it has read what comes. */
const RECEIVERS = {
  'Express, 100 kB': { mostBytes: 100 * KIB, refuse: (_request, response) => response.writeHead(413).end() },
  'nginx, 1 MiB': {
    mostBytes: KIB * KIB,
    refuse: (request, response) => {
      response.writeHead(413, { connection: 'close' }).end('<html>413 Request Entity Too Large</html>');
      request.resume();
    },
  },
} satisfies Record<string, { mostBytes: number; refuse: (request: IncomingMessage, response: ServerResponse) => void }>;

test.each(Object.entries(RECEIVERS))(
  'many tenants jump: %s is told of each once, and at once of the one that is far out of line',
  async (_name, { mostBytes, refuse }) => {
    const { connection, state, names, look, send, sendUntil } = await world();
    const { channel, taken, refused } = await receiver(mostBytes, refuse);
    look((index) => (index === EXTREME ? 2_000_000n : 16_000n + BigInt(index)));
    await send(channel);
    const words = taken.flatMap((payload) => wordsIn(payload, state.nowMs));
    expect(words.map(({ tenant }) => tenant).sort()).toEqual(names);
    expect(new Set(words.map(({ event }) => event))).toEqual(new Set(['opened']));
    expect(JSON.parse(taken[0] ?? '')).toMatchObject({ type: 'alert.firing', tenant_id: names[EXTREME] });
    expect(taken.length).toBeLessThanOrEqual(5 + TENANTS / 45);
    expect(refused()).toBeLessThan(25);
    expect(Math.max(...taken.map((payload) => Buffer.byteLength(payload)))).toBeLessThanOrEqual(mostBytes);
    await sendUntil(NOON + HOUR_MS, channel);
    expect(words.length).toBe(TENANTS);
    expect(pendingNotifications(connection)).toEqual([]);
  },
);
