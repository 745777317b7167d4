import { onTestFinished } from 'vitest';
import type { Receiver, SendOutcome, UsageEvent } from '../../src/outlets/receiver.ts';
import { type ReceiverDeps, ReceiverHttp } from '../../src/outlets/receiver-http.ts';
import { testClock } from '../support/time/test-clock.ts';
import type { Double } from './doubles/double-server.ts';

/** What a receiver of this double is made with, by the test's clock. */
export function depsFor(double: Double, clock = testClock(), path = ''): ReceiverDeps {
  const http = new ReceiverHttp({
    url: `${double.url}${path}`,
    allowPrivate: true,
    timeoutMs: 30_000,
    proxy: null,
    redact: (text) => text,
    clock,
  });
  onTestFinished(async () => {
    await http.close();
    await double.close();
  });
  return { http, clock, ledgerId: 'ledger-1' };
}

export function usageEvent(id: string, credits: bigint, more: Partial<UsageEvent> = {}): UsageEvent {
  return {
    id,
    customer: 'acme',
    quantity: credits,
    timeMs: Date.UTC(2026, 2, 19, 8, 30, 15),
    workspaceId: 'ws-1',
    tenantId: 'tenant-1',
    period: '2026-03',
    credits,
    requests: 1n,
    ...more,
  };
}

export const NEVER = new AbortController().signal;

/**
 * Sends all events until each was taken, as a caller does that knows nothing of a receiver but its interface. Returns
 * what was not taken, and for how many sends it is said that nothing is known.
 */
export async function sendAll(receiver: Receiver, events: readonly UsageEvent[]) {
  const perCall = receiver.limits.eventsPerCall;
  let waiting = [...events];
  const others: SendOutcome[] = [];
  let uncertain = 0;
  for (let rounds = 0; waiting.length > 0; rounds += 1) {
    if (rounds > 100) throw new Error(`${waiting.length} events are still not taken`);
    const again: UsageEvent[] = [];
    for (let at = 0; at < waiting.length; at += perCall) {
      const part = waiting.slice(at, at + perCall);
      const outcomes = await receiver.send(part, NEVER);
      for (const [place, outcome] of outcomes.entries()) {
        const event = part[place];
        if (event === undefined) throw new Error('more outcomes than events');
        if (outcome.is === 'retry') again.push(event);
        else if (outcome.is !== 'accepted') others.push(outcome);
        if (outcome.is === 'retry' && !outcome.certain) uncertain += 1;
      }
    }
    waiting = again;
  }
  return { others, uncertain };
}

/** Events of several customers and months, some of them negative, with their sums as an oracle writes them. */
export function manyEvents(
  count: number,
  customers: readonly string[],
): { events: UsageEvent[]; sums: Record<string, string> } {
  const sums = new Map<string, bigint>();
  const events = Array.from({ length: count }, (_, at) => {
    const customer = customers[at % customers.length] ?? '';
    const month = at % 8 < 3 ? 1 : 2;
    const period = `2026-0${month + 1}`;
    const credits = BigInt((at * 7919) % 100_003) - (at % 5 === 0 ? 90_000n : 0n);
    sums.set(`${customer} ${period}`, (sums.get(`${customer} ${period}`) ?? 0n) + credits);
    // The last second of February, and days of March.
    const timeMs = month === 1 ? Date.UTC(2026, 2, 1) - 1000 : Date.UTC(2026, 2, 1 + (at % 19));
    return usageEvent(`event-${at}`, credits, { customer, period, timeMs });
  });
  const kept = [...sums].filter(([, sum]) => sum !== 0n).sort(([a], [b]) => (a < b ? -1 : 1));
  return { events, sums: Object.fromEntries(kept.map(([key, sum]) => [key, String(sum)])) };
}
