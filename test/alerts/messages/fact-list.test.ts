import { expect, test } from 'vitest';
import { alertFacts } from '../../../src/alerts/messages/fact-list.ts';
import type { Evidence } from '../../../src/alerts/messages/facts/facts.ts';
import { nextCommands } from '../../../src/alerts/messages/next-commands.ts';
import { buildNotification } from '../../../src/alerts/messages/notification.ts';
import { dropLimit } from '../../../src/alerts/rules/drop/detect.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';

const NOW = Date.UTC(2026, 1, 20);

function factsOf(evidence: Partial<Evidence>, changes: Parameters<typeof jumpFacts>[0] = {}) {
  const told = buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, ...evidence }, ...changes }));
  return Object.fromEntries(alertFacts(told).map(({ label, value }) => [label, value]));
}

const THRESHOLD = { baseline_period: '2026-01', ratio: 1.5, min_credits: 1000 };

test('a jump says what is expected, its limit, since when, the difference and why', () => {
  const facts = factsOf({
    threshold: { credits: 150_000n, baseline_credits: 100_000n, ...THRESHOLD },
    projection: { credits: 251_984n, low_credits: null, high_credits: null, elapsed_fraction: 0.71428571 },
    share_of_increase_percent: 33.333,
    share_of_workspace_percent: 12.5,
    at_stake_credits: 151_984n,
    daily_usage: {
      ...{ since: '2026-02-09', usual_daily_credits: 3_200n, recent_daily_credits: 12_900n },
      ...{ previous_same_point: 64_000n, days: { previous: [], current: [] } },
    },
  });
  expect(facts).toEqual({
    Tenant: 'acme',
    Workspace: 'ws-123',
    Credits: '180,000 so far in 2026-02, 100,000 in 2026-01 (+80,000, +80%)',
    Requests: '1,800 so far in 2026-02, 1,000 in 2026-01 (+800)',
    Forecast: '251,984 credits by the end of 2026-02 (71.4% of the month has passed)',
    Limit: '150,000 credits: 1.5 x 100,000 (2026-01)',
    Difference: '151,984 credits by the end of 2026-02',
    Since: '2026-02-09: 12,900 credits a day, 3,200 before',
    'Same point': '180,000 credits so far, 64,000 in 2026-01 at this point',
    Share: "12.5% of the workspace's credits, 33.3% of its increase",
    Why: 'more requests: 100 credits each, 100 in 2026-01',
  });
});

test.each([
  [10_000n, '6,666 credits or less: 1.5 x 6,666 is at most 10,000 (2026-01)'],
  [1_001n, '1 credits or less: 1 + 1,000 is at most 1,001 (2026-01)'],
])('the limit of a drop from %d is the most that would be a jump to it', (baseline, words) => {
  const { ratio, min_credits } = THRESHOLD;
  const limit = dropLimit(baseline, { ratio, minCredits: min_credits });
  const threshold = { credits: limit, baseline_credits: baseline, ...THRESHOLD };
  expect(
    factsOf({ threshold }, { rule: 'drop', threshold: limit, previous: { credits: baseline, requests: 1n } }).Limit,
  ).toBe(words);
  const jumpTo = (credits: bigint) => Math.max(ratio * Number(credits), Number(credits) + min_credits);
  expect(jumpTo(limit)).toBeLessThanOrEqual(Number(baseline));
  expect(jumpTo(limit + 1n)).toBeGreaterThan(Number(baseline));
});

test.each([
  [100_001n, 150_002n, '150,002 credits: 1.5 x 100,001 (2026-01), rounded up'],
  [1_500n, 2_500n, '2,500 credits: 1,500 (2026-01) + 1,000'],
])('a limit says what has made it: of %d', (baseline, limit, words) => {
  const threshold = { credits: limit, baseline_credits: baseline, ...THRESHOLD };
  const previous = { credits: baseline, requests: 1n };
  expect(factsOf({ threshold }, { threshold: limit, previous }).Limit).toBe(words);
  const whole = words.replace('(2026-01)', '(2026-01 as a whole month)');
  expect(factsOf({ threshold }, { threshold: limit }).Limit).toBe(whole);
});

test.each([
  ['jump', 80_000n, undefined],
  ['jump', 90_000n, '90,000 credits by the end of 2026-02'],
  ['drop', 80_000n, undefined],
  ['budget', 30_000n, '30,000 credits over 150,000'],
  ['budget', 0n, undefined],
] as const)('of a %s a difference of %d is said as %s', (rule, difference, words) => {
  expect(factsOf({ at_stake_credits: difference }, { rule, threshold: 150_000n }).Difference).toBe(words);
});

test('figures of one month are told beside what they were before, and what has not changed is said to be as before', () => {
  const facts = factsOf(
    { projection: { credits: 150_000n, low_credits: null, high_credits: null, elapsed_fraction: 0.5 } },
    { rule: 'regression', previous_period: '2026-02', current: { credits: 80_000n, requests: 1000n } },
  );
  expect(facts).toMatchObject({
    Credits: '80,000 in 2026-02, 100,000 before (-20,000, -20%)',
    Requests: '1,000 in 2026-02, as before',
  });
});

test('what costs nothing has no price, and a share is never nothing', () => {
  const money = { amount: '0.00', amount_minor: 0n, currency: 'EUR' };
  const facts = factsOf(
    { at_stake_credits: 0n, at_stake_money: money, share_of_workspace_percent: 0 },
    { rule: 'budget' },
  );
  expect(facts.Cost).toBeUndefined();
  expect(facts.Share).toBe("less than 0.1% of the workspace's credits");
});

test('what is not known is not said', () => {
  const nothing = { previous: null, current: null, threshold: null, tenant_id: null };
  expect(
    factsOf(
      { detail: 'HTTP 500' },
      { ...nothing, rule: 'sync_failed', cause: 'service', period: null, previous_period: null },
    ),
  ).toEqual({ Workspace: 'ws-123' });
});

test('the commands to type next carry the id, and a plan what the period comes to', () => {
  const told = buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, at_stake_credits: 151_984n } }));
  expect(nextCommands(told, NOW)).toEqual([
    'usage-ledger alerts ack alert_1 --note "..."',
    'usage-ledger alerts silence --alert alert_1 --until 2026-05-08 --reason "..."',
    'usage-ledger alerts plan --alert alert_1 --up-to 310000 --until 2026-05-08 --reason "..."',
    'usage-ledger alerts feedback alert_1 real # expected, false',
  ]);
  const resolved = buildNotification(jumpFacts({ type: 'alert.resolved', state: 'resolved' }));
  expect(nextCommands(resolved, NOW)).toEqual(['usage-ledger alerts feedback alert_1 real # expected, false']);
  const self = buildNotification(jumpFacts({ rule: 'sync_failed', cause: 'service', tenant_id: null, period: null }));
  expect(nextCommands(self, NOW)[0]).toBe('usage-ledger doctor');
});
