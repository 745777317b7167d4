import { expect, test } from 'vitest';
import { type DifferenceContext, findCause } from '../../../src/billing/reconcile/reconcile.ts';

const LEDGER = { credits: 100n, amountMinor: 1250n };
const EARLIER = [{ credits: 90n, amountMinor: 900n }];
const PLAIN: DifferenceContext = { lines: 2, correctedMinor: 0n, manualMinor: 0n, earlier: EARLIER };

function why(
  sides: { service?: bigint; invoice?: [credits: bigint | null, amountMinor: bigint | null] },
  circumstances: Partial<DifferenceContext> = {},
) {
  const [credits = null, amountMinor = null] = sides.invoice ?? [];
  const service = sides.service === undefined ? null : { credits: sides.service, amountMinor: null };
  const invoice = sides.invoice === undefined ? null : { credits, amountMinor };
  return findCause({ ledger: LEDGER, service, invoice }, { ...PLAIN, ...circumstances });
}

test('late usage: the service has other credits now, or the invoice has an earlier reading', () => {
  expect(why({ service: 120n, invoice: [100n, 1250n] })).toBe('late_usage');
  expect(why({ invoice: [90n, 900n] })).toBe('late_usage');
  expect(why({ invoice: [null, 900n] })).toBe('late_usage');
  expect(why({ invoice: [null, 1150n] }, { correctedMinor: 250n })).toBe('late_usage');
});

test('correction: the invoice leaves out corrections of earlier months', () => {
  expect(why({ invoice: [100n, 1000n] }, { correctedMinor: 250n })).toBe('correction');
  expect(why({ invoice: [100n, 1500n] }, { correctedMinor: -250n })).toBe('correction');
});

test('manual: the invoice leaves out manual lines; correction: it leaves out both', () => {
  expect(why({ invoice: [100n, 1500n] }, { manualMinor: -250n })).toBe('manual');
  expect(why({ invoice: [100n, 1500n] }, { manualMinor: -250n, correctedMinor: 100n })).toBe('manual');
  expect(why({ invoice: [100n, 1400n] }, { manualMinor: -250n, correctedMinor: 100n })).toBe('correction');
});

test('rounding: at most one minor unit per line; other_card: more than that at the same credits', () => {
  expect(why({ invoice: [100n, 1252n] })).toBe('rounding');
  expect(why({ invoice: [100n, 1253n] })).toBe('other_card');
});

test('a difference without a known cause has no cause', () => {
  expect(why({ invoice: [77n, 1250n] })).toBeNull();
  expect(why({ invoice: [null, 5000n] })).toBeNull();
});
