import { expect, test } from 'vitest';
import { type Circumstances, whyDifferent } from '../../../src/billing/reconcile/reconcile.ts';

const LEDGER = { credits: 100n, amountMinor: 1250n };
const EARLIER = [{ credits: 90n, amountMinor: 900n }];
const PLAIN: Circumstances = { lines: 2, correctedMinor: 0n, manualMinor: 0n, earlier: EARLIER };

function why(
  sides: { service?: bigint; invoice?: [credits: bigint | null, amountMinor: bigint | null] },
  circumstances: Partial<Circumstances> = {},
) {
  const [credits = null, amountMinor = null] = sides.invoice ?? [];
  const service = sides.service === undefined ? null : { credits: sides.service, amountMinor: null };
  const invoice = sides.invoice === undefined ? null : { credits, amountMinor };
  return whyDifferent({ ledger: LEDGER, service, invoice }, { ...PLAIN, ...circumstances });
}

test('the service says other credits by now, or the invoice has what was read before: late usage', () => {
  expect(why({ service: 120n, invoice: [100n, 1250n] })).toBe('late_usage');
  expect(why({ invoice: [90n, 900n] })).toBe('late_usage');
  expect(why({ invoice: [null, 900n] })).toBe('late_usage');
  expect(why({ invoice: [null, 1150n] }, { correctedMinor: 250n })).toBe('late_usage');
});

test('an invoice without the corrections of earlier months: correction', () => {
  expect(why({ invoice: [100n, 1000n] }, { correctedMinor: 250n })).toBe('correction');
  expect(why({ invoice: [100n, 1500n] }, { correctedMinor: -250n })).toBe('correction');
});

test('an invoice without the lines by hand: manual; without both: correction', () => {
  expect(why({ invoice: [100n, 1500n] }, { manualMinor: -250n })).toBe('manual');
  expect(why({ invoice: [100n, 1500n] }, { manualMinor: -250n, correctedMinor: 100n })).toBe('manual');
  expect(why({ invoice: [100n, 1400n] }, { manualMinor: -250n, correctedMinor: 100n })).toBe('correction');
});

test('no more than a minor unit a line: rounding; more of it at the same credits: another card', () => {
  expect(why({ invoice: [100n, 1252n] })).toBe('rounding');
  expect(why({ invoice: [100n, 1253n] })).toBe('other_card');
});

test('what none of them gives is left open', () => {
  expect(why({ invoice: [77n, 1250n] })).toBeNull();
  expect(why({ invoice: [null, 5000n] })).toBeNull();
});
