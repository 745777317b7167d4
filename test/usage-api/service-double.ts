import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { UsageApiClient, type UsageApiClientOptions } from '../../src/usage-api/client.ts';

export const SECRET = 'sk_test_very_secret_value';

export interface Received {
  method: string;
  /** As it came over the wire. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** A real HTTP server whose n-th request gets the n-th reply; the last reply repeats. */
export interface ServiceDouble {
  url: string;
  received: Received[];
  replies: Reply[];
  close(): Promise<void>;
}

export function startService(...replies: Reply[]): Promise<ServiceDouble> {
  return startServiceOn(0, ...replies);
}

/** Port 0: any free one. */
export async function startServiceOn(port: number, ...replies: Reply[]): Promise<ServiceDouble> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const service: ServiceDouble = { url: '', received, replies, close: () => Promise.resolve() };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      const reply = service.replies[Math.min(received.length, service.replies.length) - 1];
      if (reply === undefined) throw new Error('no reply prepared');
      reply(response, request);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service.close = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return service;
}

export function clientOf(url: string, options: Partial<UsageApiClientOptions> = {}): UsageApiClient {
  return new UsageApiClient({
    baseUrl: url,
    embedUrl: url,
    workspaceId: 'ws-1',
    apiKeyId: 'ak_1',
    secretKey: SECRET,
    retryBaseMs: 2,
    ...options,
  });
}

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  };
}

export function failure(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return answer(status, { success: false, message, data: null }, headers);
}

/** Plain data, so that tests can take it apart. */
export type Loose = Record<string, unknown>;

export function item(fields: Loose = {}): Loose {
  return {
    tenant_id: 't-1',
    period: '2026-02',
    period_start: '2026-02-01T00:00:00',
    period_end: '2026-02-28T23:59:59',
    credits_used: 5,
    request_count: 2,
    ...fields,
  };
}

export function page(items: unknown[], data: Loose = {}, envelope: Loose = {}): Loose {
  return {
    message: 'ok',
    success: true,
    data: { workspace_id: 'ws-1', usage: items, total_records: items.length, total_pages: 1, ...data },
    ...envelope,
  };
}
