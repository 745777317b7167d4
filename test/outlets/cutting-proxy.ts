import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** In the middle of what goes there, or of what comes back. */
export type Side = 'request' | 'answer';

export interface CuttingProxy {
  url: string;
  /** Cuts the connection in the middle of the `nth` piece from now on that goes that way. */
  cutAt(side: Side, nth: number): void;
  /** Connections that were cut. */
  readonly cut: Side[];
}

/** Leads every connection to a server on loopback, and cuts it where it is told to. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const cut: Side[] = [];
  let next: { side: Side; left: number } | null = null;
  const sockets = new Set<Socket>();
  const lead = (side: Side, from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('error', () => undefined);
    from.on('close', () => to.destroy());
    from.on('data', (piece: Buffer) => {
      if (next?.side === side) next.left -= 1;
      if (next?.side !== side || next.left > 0) return void to.write(piece);
      next = null;
      cut.push(side);
      to.write(piece.subarray(0, piece.length >> 1), () => from.destroy());
    });
  };
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1');
    lead('request', client, upstream);
    lead('answer', upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAt: (side, nth) => {
      next = { side, left: nth };
    },
    cut,
  };
}
