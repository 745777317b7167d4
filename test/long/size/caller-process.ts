import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A caller who disturbs the daemon at `url`: the argument of the process, which disturbs until it is killed. */
export interface CallerOrder {
  kind: keyof typeof CALLERS;
  url: string;
  token: string;
}

const FLOODING_SOCKETS = 16;
const SLOW_SOCKETS = 50;
const HUGE_BYTES = 100 * 1024 * 1024;
const PAUSE_MS = 100;

const CALLERS = { flood, sendSlowly, sendHuge };

if (import.meta.main) {
  const { kind, ...order } = JSON.parse(process.argv[2] ?? '') as CallerOrder;
  await CALLERS[kind](order);
}

type Order = Omit<CallerOrder, 'kind'>;

/** One token on many sockets, as fast as the answers come. */
async function flood({ url, token }: Order): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const onSocket = async (): Promise<void> => {
    for (;;) await (await fetch(`${url}/api/v1/head`, { headers })).arrayBuffer();
  };
  await Promise.all(Array.from({ length: FLOODING_SOCKETS }, onSocket));
}

/** Bodies that come byte by byte, and never as a whole. */
async function sendSlowly({ url, token }: Order): Promise<void> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: SLOW_SOCKETS }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      `POST /api/v1/rates/check HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${token}\r\n`,
    );
    socket.write(`content-type: application/json\r\ncontent-length: ${HUGE_BYTES}\r\n\r\n`);
    return socket;
  });
  for (;;) {
    for (const socket of sockets) if (socket.writable) socket.write(' ');
    await sleep(PAUSE_MS);
  }
}

/** Bodies of 100 MB, one after the other; the server refuses them before it has read them. */
async function sendHuge({ url, token }: Order): Promise<void> {
  const body = Buffer.alloc(HUGE_BYTES, ' ');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (;;) {
    const sent = request(`${url}/api/v1/rates/check`, { method: 'POST', headers });
    sent.on('error', () => undefined);
    sent.on('response', (response) => response.resume());
    sent.end(body);
    await once(sent, 'close');
    await sleep(PAUSE_MS);
  }
}
