import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** How a call ends: taken, answered by 5xx, left without an answer, or cut off. */
export type Fate = 'taken' | '5xx' | 'timeout' | 'reset';

/** What has come under one id. */
export interface Arrival {
  calls: number;
  taken: number;
  /** Digests of the bodies: one, if every retry carried the same. */
  bodies: Set<string>;
  signatures: Set<string>;
}

export interface FlakyReceiver {
  url: string;
  arrivals: ReadonlyMap<string, Arrival>;
  /** How many calls ended in which way. */
  fates: Record<Fate, number>;
  /** Why a call was not accepted as signed by the sender; empty if all were. */
  forgeries: string[];
  /** Notifications that were taken at least once. */
  takenCount(): number;
  close(): Promise<void>;
}

export interface FlakyOptions {
  /** `whsec_...` */
  secret: string;
  /** Says how the next call ends. */
  fate: () => Fate;
  /** Told of each call before its signature is judged. */
  beforeVerify?: (timestampSeconds: number) => void;
}

/** 30% of calls fail: 17% by 5xx, 10% by a reset, 3% by a timeout. `random` returns numbers from 0 to below 1. */
export function thirtyPercentFail(random: () => number): () => Fate {
  return () => {
    const drawn = random();
    return drawn < 0.03 ? 'timeout' : drawn < 0.13 ? 'reset' : drawn < 0.3 ? '5xx' : 'taken';
  };
}

/** A receiver of webhooks that checks every signature by an independent implementation and fails as told. */
export async function startFlakyReceiver({ secret, fate, beforeVerify }: FlakyOptions): Promise<FlakyReceiver> {
  const verifier = new Webhook(secret);
  const arrivals = new Map<string, Arrival>();
  const fates: Record<Fate, number> = { taken: 0, '5xx': 0, timeout: 0, reset: 0 };
  const forgeries: string[] = [];
  let takenCount = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    // A sender that is killed in the middle of a call has sent nothing that counts.
    for await (const chunk of request.on('error', () => undefined)) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const headers = request.headers as Record<string, string>;
    beforeVerify?.(Number(headers['webhook-timestamp']));
    try {
      verifier.verify(body, headers);
    } catch (error) {
      forgeries.push(`${headers['webhook-id']}: ${String(error)}`);
    }
    const id = headers['webhook-id'] ?? '';
    const arrival = arrivals.get(id) ?? { calls: 0, taken: 0, bodies: new Set(), signatures: new Set() };
    arrivals.set(id, arrival);
    arrival.calls += 1;
    arrival.bodies.add(createHash('sha256').update(body).digest('base64'));
    arrival.signatures.add(headers['webhook-signature'] ?? '');
    const end = fate();
    fates[end] += 1;
    if (end === 'taken') {
      arrival.taken += 1;
      if (arrival.taken === 1) takenCount += 1;
    }
    answer(response, end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    arrivals,
    fates,
    forgeries,
    takenCount: () => takenCount,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(response: ServerResponse, end: Fate): void {
  if (end === 'taken') response.writeHead(204).end();
  if (end === '5xx') response.writeHead(503).end();
  if (end === 'reset') response.socket?.resetAndDestroy();
}
