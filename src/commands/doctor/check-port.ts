import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../config/types.ts';
import { attemptLimit } from '../../core/attempt-limit.ts';
import type { Clock } from '../../core/clock.ts';
import { type Finding, fail, ok } from './finding.ts';

const ANSWER_MS = 2_000;

/** Whether the daemon's pages have their port: it is free, or the daemon itself listens there. */
export async function checkPort({ host, port }: Config['http'], clock: Clock): Promise<Finding[]> {
  if (port === 0) return [];
  const place = `${host}, port ${port}`;
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const server = createServer();
  try {
    server.listen({ host: address, port });
    await once(server, 'listening');
    return [ok('http', `${place} is free`)];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isDaemon(host, port, clock)))
      return [ok('http', `a daemon answers on ${place}`)];
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be had: ${message}`;
    return [fail('http', `${place} ${reason}`, 'choose another http.port; http.port: 0 switches the pages off')];
  } finally {
    server.close();
  }
}

async function isDaemon(host: string, port: number, clock: Clock): Promise<boolean> {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const limit = attemptLimit(clock, ANSWER_MS);
  try {
    const answer = await fetch(`http://${name}:${port}/healthz`, { signal: limit.signal });
    const said = (await answer.json()) as { status?: unknown; uptime_seconds?: unknown };
    return said.status === 'ok' && typeof said.uptime_seconds === 'number';
  } catch {
    return false;
  } finally {
    limit.release();
  }
}
