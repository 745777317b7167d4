import { expect, test } from 'vitest';
import { createRepeatLimit } from '../../src/core/repeat-limit.ts';

test('2,022 equal lines in 105 s become two, and the second counts the dropped ones', () => {
  let nowMs = 0;
  const limit = createRepeatLimit(60_000, { monotonic: () => nowMs });
  const written: [string, number][] = [];
  for (let line = 0; line < 2022; line += 1) {
    nowMs = (line * 105_000) / 2022;
    limit(`READONLY at request ${line}`, (droppedCount) => written.push(['READONLY', droppedCount]));
  }
  expect(written).toHaveLength(2);
  expect(written[0]).toEqual(['READONLY', 0]);
  expect(written[1]?.[1]).toBeGreaterThan(1000);
});

test('different lines are not limited', () => {
  const limit = createRepeatLimit(60_000, { monotonic: () => 0 });
  const written: string[] = [];
  for (const text of ['a', 'b', 'a', 'b']) limit(text, () => written.push(text));
  expect(written).toEqual(['a', 'b']);
});

test('only the latest texts are tracked: the oldest is dropped and written again', () => {
  const limit = createRepeatLimit(60_000, { monotonic: () => 0 });
  let written = 0;
  const word = (index: number): string => String.fromCharCode(0x4e00 + index);
  for (let index = 0; index < 1000; index += 1) limit(word(index), () => (written += 1));
  limit(word(0), () => (written += 1));
  expect(written).toBe(1001);
});
