import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TlsServer {
  port: number;
  /** The paths that were asked for. */
  paths: string[];
}

/** An https server that answers everything with this body. Closed when the test has finished. */
export async function startTlsServer(identity: Pick<ServerOptions, 'key' | 'cert'>, body: string): Promise<TlsServer> {
  const paths: string[] = [];
  const server = createHttpsServer(identity, (request, response) => {
    paths.push(request.url ?? '');
    response.end(body);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, paths };
}

export interface ConnectProxy {
  url: string;
  /** What it answers CONNECT with; 200 opens the tunnel. */
  status: number;
  /** What it was asked to connect to. */
  tunnels: { target: string; headers: IncomingHttpHeaders }[];
}

/** A proxy that leads every CONNECT to one port of this machine, or answers it with another status than 200. */
export async function startConnectProxy(targetPort: number, status = 200): Promise<ConnectProxy> {
  const tunnels: ConnectProxy['tunnels'] = [];
  const proxy: ConnectProxy = { url: '', status, tunnels };
  const sockets = new Set<Socket>();
  const server = createHttpServer((_request, response) => response.writeHead(400).end());
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request, socket: Socket, head: Buffer) => {
    tunnels.push({ target: request.url ?? '', headers: request.headers });
    if (proxy.status !== 200) {
      socket.end(`HTTP/1.1 ${proxy.status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const onward = connect(targetPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [socket, onward]) each.on('error', () => undefined);
    sockets.add(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}
