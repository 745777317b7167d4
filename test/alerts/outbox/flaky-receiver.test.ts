import { expect, onTestFinished, test, vi } from 'vitest';
import { fillOutbox } from '../../long/deliveries/fill-outbox.ts';
import { startFlakyReceiver, thirtyPercentFail } from '../../long/deliveries/flaky-receiver.ts';
import { countByState, pendingMessages } from '../../support/messages.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';

const NOTIFICATIONS = 60;
const SECRET = `whsec_${Buffer.from('a key for the short test').toString('base64')}`;

test('60 notifications all arrive although 30% of calls fail, each under one id with one body, signed afresh', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const receiver = await startFlakyReceiver({
    secret: SECRET,
    fate: thirtyPercentFail(numbersFrom(7)),
    // The verifier compares with the time of this machine, the sender lives in the time of the test.
    beforeVerify: (timestampSeconds) => vi.setSystemTime(timestampSeconds * 1000),
  });
  onTestFinished(receiver.close);
  const { upstream, sync, another, view, clock, config } = await startFixture({
    channels: [
      { type: 'webhook', name: 'hook', url: receiver.url, secrets: [SECRET], allowPrivate: true, timeoutMs: 2000 },
    ],
  });
  for (const period of ['2026-01', '2026-02'])
    upstream.set({ tenantId: 'acme', period, credits: 10_000, requests: 10 });
  await sync();
  upstream.set({ tenantId: 'acme', period: '2026-03', credits: 50_000, requests: 10 });
  await sync();
  fillOutbox(config.ledger.path, NOTIFICATIONS);
  const context = another();
  const ledger = view();

  for (let waiting = pendingMessages(ledger); waiting.length > 0; waiting = pendingMessages(ledger)) {
    clock.set(Math.max(clock.now(), Math.min(...waiting.map(({ nextAttemptAt }) => Date.parse(nextAttemptAt)))));
    const due = waiting.filter(({ nextAttemptAt }) => Date.parse(nextAttemptAt) <= clock.now());
    await Promise.all(due.map(({ id }) => context.deliver(id, new AbortController().signal)));
  }

  expect(countByState(ledger)).toEqual({ delivered: NOTIFICATIONS });
  expect(receiver.takenCount()).toBe(NOTIFICATIONS);
  expect(receiver.forgeries).toEqual([]);
  const counted = Object.fromEntries(context.traffic.deliveries().map(({ outcome, count }) => [outcome, count]));
  expect(counted.delivered).toBe(NOTIFICATIONS);
  expect(Object.values(counted).reduce((sum, count) => sum + count, 0)).toBe(
    [...receiver.arrivals.values()].reduce((sum, { calls }) => sum + calls, 0),
  );
  expect(Object.values(receiver.fates).every((count) => count > 0)).toBe(true);
  for (const { calls, taken, bodies, signatures } of receiver.arrivals.values()) {
    expect({ taken, bodies: bodies.size, signatures: signatures.size }).toEqual({
      taken: 1,
      bodies: 1,
      signatures: calls,
    });
  }
});

/** The same numbers from 0 to below 1 for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
