import { expect, test } from 'vitest';
import { createPacer } from '../../src/sync/pacer.ts';
import { rejection } from '../support/rejection.ts';

const SIGNAL = new AbortController().signal;

test('callers that share a pacer keep to its rate together', async () => {
  const pace = createPacer(200);
  const startedAtMs = performance.now();
  const caller = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await pace(SIGNAL);
  };

  await Promise.all([caller(), caller(), caller(), caller()]);

  // 80 turns at 200 a second take 400 ms, of which the burst at the beginning saves 100 ms.
  const elapsedMs = performance.now() - startedAtMs;
  expect(elapsedMs).toBeGreaterThanOrEqual(285);
  expect(elapsedMs).toBeLessThan(3_000);
});

test('a pause is not made up for by more than a short burst', async () => {
  const pace = createPacer(100);
  await pace(SIGNAL);
  const resumeMs = performance.now() + 300;
  while (performance.now() < resumeMs);
  const startedAtMs = performance.now();

  for (let turn = 0; turn < 31; turn += 1) await pace(SIGNAL);

  // 31 turns at 100 a second: 300 ms, less a burst of 100 ms.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(185);
});

test('waiting for a turn ends at once when the signal aborts', async () => {
  const pace = createPacer(0.01);
  await pace(SIGNAL);
  const stop = new AbortController();
  const waiting = rejection(pace(stop.signal));
  stop.abort();
  expect((await waiting).name).toBe('AbortError');
});
