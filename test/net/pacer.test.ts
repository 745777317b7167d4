import { expect, test } from 'vitest';
import { bothPacers, HostPacer } from '../../src/net/pacer.ts';
import { rejection } from '../support/rejection.ts';

const SIGNAL = new AbortController().signal;

test('callers that share a pacer keep to its rate together', async () => {
  const pace = new HostPacer(200).lane('ws');
  const startedAtMs = performance.now();
  const caller = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await pace(SIGNAL);
  };

  await Promise.all([caller(), caller(), caller(), caller()]);

  // 80 turns at 200 a second take 400 ms, of which the burst at the beginning saves 100 ms.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(285);
});

test('a pause is not made up for by more than a short burst', async () => {
  const pace = new HostPacer(100).lane('ws');
  await pace(SIGNAL);
  const resumeMs = performance.now() + 300;
  while (performance.now() < resumeMs);
  const startedAtMs = performance.now();

  for (let turn = 0; turn < 31; turn += 1) await pace(SIGNAL);

  // 31 turns at 100 a second: 300 ms, less a burst of 100 ms.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(185);
});

test('waiting for a turn ends at once when the signal aborts', async () => {
  const pace = new HostPacer(0.01).lane('ws');
  await pace(SIGNAL);
  const stop = new AbortController();
  const waiting = rejection(pace(stop.signal));
  stop.abort();
  expect((await waiting).name).toBe('AbortError');
});

test('workspaces of one host share its rate, and one with many pages does not hold up one with three', async () => {
  const host = new HostPacer(200);
  const order: string[] = [];
  const walk = async (name: string, pages: number): Promise<void> => {
    const pace = host.lane(name);
    const turns = Array.from({ length: pages }, async () => {
      await pace(SIGNAL);
      order.push(name);
    });
    await Promise.all(turns);
  };
  const startedAtMs = performance.now();
  const big = walk('big', 100);
  await Promise.all([walk('small', 3), big]);

  // 103 requests at 200 a second, less a burst of 100 ms.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(400);
  expect(order.lastIndexOf('small')).toBeLessThan(40);
});

test('of two rates both hold', async () => {
  const pace = bothPacers(new HostPacer(100).lane('ws'), new HostPacer(10_000).lane('ws'));
  const startedAtMs = performance.now();
  for (let turn = 0; turn < 31; turn += 1) await pace(SIGNAL);
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(185);
});
