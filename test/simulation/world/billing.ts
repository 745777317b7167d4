import { Webhook } from 'standardwebhooks';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../../src/core/clock.ts';
import { Random } from '../../support/random.ts';
import { PromiseBroken } from '../oracle/fault.ts';
import { connectionError, SimulatedDispatcher } from './network.ts';
import type { SimulatedProcess } from './process.ts';

/** What a billing system can do to a request other than answer it; after the last three it has the events. */
export const BILLING_FAULTS = ['away', 'reset', 'break', 'throttle', 'broken_answer', 'cut_off', 'no_answer'] as const;
export type BillingFault = (typeof BILLING_FAULTS)[number];

export const BILLING_SECRET = `whsec_${Buffer.from('the secret of the simulated billing').toString('base64')}`;

/** An event as docs/billing-systems.md describes it. */
export interface CountedEvent {
  id: string;
  source: string;
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

/** For so long, as the documentation asks for, an id is counted once. */
const REMEMBERS_MS = 168 * 3_600_000;

/** A billing system behind an outlet of type `webhook`: what it counts is what a customer would be billed for. */
export class Billing {
  readonly counted: CountedEvent[] = [];
  readonly met = new Map<BillingFault, number>();
  trouble: { fault: BillingFault; probability: number } | null = null;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #seenMs = new Map<string, number>();

  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#random = new Random(seed);
  }

  /** The way there as one process has it: an answer is heard later than the events are taken, or never. */
  dispatcherFor(process: SimulatedProcess): Dispatcher {
    return new SimulatedDispatcher((options, handler) => {
      const call = new Call(handler);
      const hear = (then: () => void): void => void this.#clock.after(this.#random.between(10, 300), then);
      const fault = this.#draw();
      const answer = (status: number): void =>
        hear(() => process.deliver(() => call.answer(status, fault === 'cut_off')));
      hear(() => {
        if (fault === 'away') process.deliver(() => call.fail(connectionError('ECONNREFUSED')));
        else if (fault === 'reset') process.deliver(() => call.fail(connectionError('ECONNRESET')));
        else if (fault === 'throttle') answer(429);
        else if (fault === 'break') answer(503);
        else {
          this.#take(options);
          if (fault !== 'no_answer') answer(fault === 'broken_answer' ? 502 : 202);
        }
      });
      process.onStep('push');
    });
  }

  #draw(): BillingFault | null {
    if (this.trouble === null || !this.#random.chance(this.trouble.probability)) return null;
    const { fault } = this.trouble;
    this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
    return fault;
  }

  #take({ headers, body }: Dispatcher.DispatchOptions): void {
    const given = headers as Record<string, string>;
    const id = given['webhook-id'] ?? '';
    const signedAt = new Date(Number(given['webhook-timestamp']) * 1000);
    if (given['webhook-signature'] !== new Webhook(BILLING_SECRET).sign(id, signedAt, String(body)))
      throw new PromiseBroken('what goes to a billing system is signed', id);
    for (const event of JSON.parse(String(body)) as CountedEvent[]) {
      const seenMs = this.#seenMs.get(event.id);
      if (seenMs !== undefined && this.#clock.now() - seenMs < REMEMBERS_MS) continue;
      this.#seenMs.set(event.id, this.#clock.now());
      this.counted.push(event);
    }
  }
}

/** undici's own `request` hears an answer by these calls. */
class Call {
  readonly #handler: Dispatcher.DispatchHandler;
  #ended = false;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
    handler.onConnect?.((error) => this.fail(error ?? new Error('aborted')));
  }

  answer(status: number, isCutOff: boolean): void {
    if (this.#ended) return;
    const headers = status === 429 ? ['retry-after', '120'].map((text) => Buffer.from(text)) : [];
    this.#handler.onHeaders?.(status, headers, () => undefined, '');
    this.#handler.onData?.(Buffer.from('a body of'));
    if (isCutOff) this.fail(connectionError('UND_ERR_SOCKET'));
    else this.#handler.onComplete?.([]);
    this.#ended = true;
  }

  fail(error: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler.onError?.(error);
  }
}
