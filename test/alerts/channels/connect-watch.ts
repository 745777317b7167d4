import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server that nobody should reach, and every address that this process has tried to connect to meanwhile. */
export interface ConnectWatch {
  port: number;
  /** Connections that the server has accepted. */
  accepted(): number;
  /** The addresses in the order of the attempts, as the operating system was given them. */
  attempts: string[];
}

type Connect = (request: object, address: string, port: number) => number;
const ECONNREFUSED = -111;

/**
 * Watches at the last place before the operating system. Attempts on this machine are let through; any other is answered
 * as refused, so that no test ever sends anything to another machine.
 */
export async function watchConnects(): Promise<ConnectWatch> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const handles = Object.getPrototypeOf((server as Server & { _handle: object })._handle) as Record<string, Connect>;
  const attempts: string[] = [];
  const originals = { connect: handles.connect as Connect, connect6: handles.connect6 as Connect };
  for (const [name, original] of Object.entries(originals)) {
    handles[name] = function (this: unknown, request, address, port) {
      attempts.push(address);
      return address.startsWith('127.') ? original.call(this, request, address, port) : ECONNREFUSED;
    };
  }
  onTestFinished(async () => {
    Object.assign(handles, originals);
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { port: address.port, accepted: () => accepted, attempts };
}
