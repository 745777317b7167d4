import { expect, test } from 'vitest';
import { GuessLimit } from '../../../src/daemon/http/guards.ts';

function limitAt(): { limit: GuessLimit; pass(ms: number): void } {
  let nowMs = 0;
  return {
    limit: new GuessLimit(() => nowMs),
    pass(ms) {
      nowMs += ms;
    },
  };
}

function guess(limit: GuessLimit, address: string, times: number): void {
  for (let wrong = 0; wrong < times; wrong += 1) limit.wrong(address);
}

test('ten wrong tokens at once, then one every six seconds', () => {
  const { limit, pass } = limitAt();
  guess(limit, '10.0.0.1', 9);
  expect(limit.waitSeconds('10.0.0.1')).toBe(0);
  guess(limit, '10.0.0.1', 1);
  expect(limit.waitSeconds('10.0.0.1')).toBe(6);
  pass(5_000);
  expect(limit.waitSeconds('10.0.0.1')).toBe(1);
  pass(1_000);
  expect(limit.waitSeconds('10.0.0.1')).toBe(0);
  guess(limit, '10.0.0.1', 1);
  expect(limit.waitSeconds('10.0.0.1')).toBe(6);
  pass(60_000);
  guess(limit, '10.0.0.1', 9);
  expect(limit.waitSeconds('10.0.0.1')).toBe(0);
});

test('each address for itself; one of IPv6 with its whole network, one of IPv4 inside IPv6 as itself', () => {
  const { limit } = limitAt();
  guess(limit, '10.0.0.1', 10);
  guess(limit, '2001:db8:1:2::5', 5);
  guess(limit, '2001:db8:1:2:ffff::6', 5);
  expect(limit.waitSeconds('10.0.0.2')).toBe(0);
  expect(limit.waitSeconds('::ffff:10.0.0.1')).toBe(6);
  expect(limit.waitSeconds('2001:db8:1:2::7')).toBe(6);
  expect(limit.waitSeconds('2001:db8:1:3::7')).toBe(0);
});

test('very many addresses take no more room than a thousand', () => {
  const { limit } = limitAt();
  guess(limit, 'first', 10);
  for (let other = 0; other < 1000; other += 1) limit.wrong(`10.1.${other >> 8}.${other & 255}`);
  expect(limit.waitSeconds('first')).toBe(0);
});
