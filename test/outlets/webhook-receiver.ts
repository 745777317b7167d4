import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { onTestFinished } from 'vitest';

export const SECRET = `whsec_${Buffer.from('the secret of an outlet').toString('base64')}`;

interface CloudEvent {
  specversion: string;
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  data: {
    workspace_id: string;
    tenant_id: string;
    period: string;
    credits: number | string;
    requests: number | string;
  };
}

/** What the receiver does with a request; `taken` in it says that it keeps the events all the same. */
export type Mood = { status: number; headers?: Record<string, string>; taken?: boolean; body?: string } | 'hang' | null;

/**
 * A receiver of `webhook`, written from docs/billing-systems.md: it checks the signature, counts an id once for as long as it
 * remembers it, and books what it counts for the customer in the month of the event's time.
 */
export class WebhookReceiver {
  url = '';
  /** Its own clock. */
  nowMs = Date.now();
  /** How long it takes with each request, before it counts and before it answers. */
  delayMs = 0;
  remembersMs = 168 * 3_600_000;
  /** Of each request, before it is looked at; null: it is well. */
  mood: (events: readonly CloudEvent[]) => Mood = () => null;
  /** Ids, or customers, that it refuses. */
  refuses: (event: CloudEvent) => boolean = () => false;
  readonly counted: CloudEvent[] = [];
  requests = 0;
  readonly faults: string[] = [];
  readonly #seenAt = new Map<string, number>();

  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/usage`;
    return this;
  }

  /** By `customer month`, in whole credits. */
  sums(): Record<string, bigint> {
    const sums: Record<string, bigint> = {};
    for (const { subject, time, data } of this.counted) {
      const key = `${subject} ${time.slice(0, 7)}`;
      sums[key] = (sums[key] ?? 0n) + BigInt(data.credits);
    }
    return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== 0n));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString('utf8');
    this.requests += 1;
    if (this.delayMs > 0) await sleep(this.delayMs);
    const { 'webhook-id': id = '', 'webhook-timestamp': at = '', 'webhook-signature': given } = request.headers;
    const expected = new Webhook(SECRET).sign(String(id), new Date(Number(at) * 1000), body);
    if (given !== expected) {
      this.faults.push(`signature of ${String(id)}`);
      response.writeHead(401).end('bad signature');
      return;
    }
    const parsed = JSON.parse(body) as CloudEvent | CloudEvent[];
    const isBatch = request.headers['content-type'] === 'application/cloudevents-batch+json';
    if (isBatch !== Array.isArray(parsed)) this.faults.push('the type of the content is not that of the body');
    const events = Array.isArray(parsed) ? parsed : [parsed];
    const mood = this.mood(events);
    const isRefused = events.some(this.refuses);
    if (!isRefused && (mood === null || mood === 'hang' || mood.taken === true)) this.#count(events);
    if (this.delayMs > 0) await sleep(this.delayMs);
    // Who hangs has it, and never says so.
    if (mood === 'hang') return;
    if (mood !== null) response.writeHead(mood.status, mood.headers).end(mood.body ?? '');
    else response.writeHead(isRefused ? 400 : 202).end(isRefused ? 'unknown customer' : '');
  }

  #count(events: readonly CloudEvent[]): void {
    for (const event of events) {
      const seenAt = this.#seenAt.get(event.id);
      if (seenAt !== undefined && this.nowMs - seenAt < this.remembersMs) continue;
      this.#seenAt.set(event.id, this.nowMs);
      this.counted.push(event);
    }
  }
}
