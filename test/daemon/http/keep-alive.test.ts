import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveApi, TOKENS } from '../api/served-api.ts';
import { serve } from './served.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const MEGABYTE = 1024 * 1024;

interface Sent {
  status: number;
  /** True if the request went over a socket that had served another one. */
  reused: boolean;
  /** True unless the server announced that it closes the socket. */
  kept: boolean;
}

/** Sends requests one after the other over the same socket, if the server leaves it open. */
function sender(url: string): (method: string, path: string, bytes?: number, token?: string) => Promise<Sent> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (method, path, bytes = 0, token = TOKENS[2]?.token) => {
    const sent = request(`${url}${path}`, {
      method,
      agent,
      headers: {
        authorization: `Bearer ${token}`,
        ...(bytes === 0 ? {} : { 'content-type': 'application/json', 'content-length': bytes }),
      },
    });
    sent.end(bytes === 0 ? undefined : Buffer.alloc(bytes, ' '));
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    const kept = response.headers.connection !== 'close';
    return { status: response.statusCode, reused: sent.reusedSocket, kept };
  };
}

describe('a socket that a client keeps open', () => {
  it.each([
    ['an answer', 'GET', '/api/v1/head', 0, 200],
    ['an unknown path', 'GET', '/nothing', 0, 404],
    ['a form that is refused before its body was read', 'POST', '/', MEGABYTE, 405],
    ['a change that is refused before its body was read', 'POST', '/api/v1/nothing', MEGABYTE, 405],
    ['a body that is no object', 'POST', '/api/v1/rates/check', MEGABYTE / 2, 400],
    ['a body that is too large', 'POST', '/api/v1/rates/check', 2 * MEGABYTE, 413],
  ])('answers again after %s, unless the server said that it closes it', async (_, method, path, bytes, status) => {
    const { url } = await serveApi(await worldOfOperations());
    const send = sender(url);
    for (let time = 0; time < 6; time += 1) {
      const refused = await send(method, path, bytes);
      expect(refused.status).toBe(status);
      expect(await send('GET', '/healthz')).toEqual({ status: 200, reused: refused.kept, kept: true });
    }
  });

  it('is left open longer than clients and proxies keep theirs, so that none of them sends into a closed one', async () => {
    const { url } = await serve();
    const socket = await connectTo(url);
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const [answer] = await once(socket.setEncoding('utf8'), 'data');
    const seconds = Number(/keep-alive: timeout=(\d+)/i.exec(answer)?.[1]);
    // Caddy keeps connections for 120 s, Traefik and Go for 90 s, nginx and load balancers for 60 s.
    expect(seconds).toBeGreaterThan(120);
  });

  it('is closed by a stop and not reset', async () => {
    const server = await serve();
    const socket = await connectTo(server.url);
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(socket, 'data');
    const closed = once(socket, 'close');
    const ended = once(socket, 'end');
    await server.close();
    await ended;
    expect(await closed).toEqual([false]);
  });
});

async function connectTo(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}
