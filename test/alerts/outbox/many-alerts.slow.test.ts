import { expect, test } from 'vitest';
import type { DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { countByState } from '../../support/messages.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { HOUR_MS, TENANTS, type Word, wordsIn, world } from '../messages/alert-words.ts';

const DAY_MS = 24 * HOUR_MS;

test('a channel that is away for three days is sent the current state when it is back', async () => {
  const { connection, state, names, look, sendUntil } = await world();
  const words: Word[] = [];
  let isAway = false;
  let messages = 0;
  const deliver = async ({ payload }: { payload: string }): Promise<DeliveryResult> => {
    if (isAway) return { outcome: 'retry', reason: 'HTTP 503', retryAfterMs: null, unknown: false };
    messages += 1;
    words.push(...wordsIn(payload, state.nowMs));
    return { outcome: 'delivered', detail: 'taken' };
  };
  look((index) => (index % 2 === 0 ? 16_000n : null));
  await sendUntil(NOON + HOUR_MS, { deliver });
  expect(words.length).toBe(TENANTS / 2);
  isAway = true;
  // Of six kinds: goes on, is gone, grows; never was, begins, comes and goes.
  const day = (which: number) => (index: number) => {
    const begun = [16_000n, null, 16_000n * BigInt(which + 1), null, 17_000n, which === 2 ? null : 18_000n];
    return [begun[0], begun[3], begun[1], begun[4], begun[2], begun[5]][index % 6] ?? null;
  };
  for (const which of [1, 2, 3]) {
    look(day(which));
    await sendUntil(NOON + which * DAY_MS, { deliver });
    look(day(which));
    await sendUntil(NOON + which * DAY_MS + 6 * HOUR_MS, { deliver });
  }
  const heardBefore = words.length;
  isAway = false;
  messages = 0;
  await sendUntil(NOON + 5 * DAY_MS, { deliver });
  expect(heardBefore).toBe(TENANTS / 2);
  expect(messages).toBeLessThanOrEqual(5 + TENANTS / 45);
  const last = new Map(words.map((word) => [word.tenant, word]));
  for (const [index, tenant] of names.entries()) {
    const so = day(3)(index);
    const heard = last.get(tenant);
    if (so === null) expect([tenant, heard?.event ?? 'closed']).toEqual([tenant, 'closed']);
    else expect([tenant, heard?.event === 'closed', BigInt(heard?.credits ?? 0)]).toEqual([tenant, false, so]);
  }
  expect(countByState(connection).due ?? 0).toBe(0);
});
