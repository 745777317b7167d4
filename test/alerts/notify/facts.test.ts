import { expect, test } from 'vitest';
import { alertFacts } from '../../../src/alerts/notify/facts.ts';
import { nextCommands } from '../../../src/alerts/notify/next-commands.ts';
import { buildNotification } from '../../../src/alerts/notify/notification.ts';
import { dropLimit } from '../../../src/alerts/rules/drop/judge-drop.ts';
import type { Evidence } from '../../../src/alerts/wording/notification.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';

const NOW = Date.UTC(2026, 1, 20);

function factsOf(evidence: Partial<Evidence>, changes: Parameters<typeof jumpFacts>[0] = {}) {
  const told = buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, ...evidence }, ...changes }));
  return Object.fromEntries(alertFacts(told).map(({ label, value }) => [label, value]));
}

const THRESHOLD = { baseline_periods: ['2026-01'], ratio: 1.5, min_credits: 1000, min_increase: null, per_day: false };

test('a jump says what is expected, its limit, since when, the difference and why', () => {
  const facts = factsOf({
    threshold: { credits: 150_000n, baseline_credits: 100_000n, ...THRESHOLD },
    projection: { credits: 251_984n, elapsed_fraction: 0.71428571 },
    share_of_increase_percent: 33.333,
    share_of_workspace_percent: 12.5,
    at_stake_credits: 151_984n,
    split: { volume_credits: 80_000n, intensity_credits: 0n },
    course: {
      ...{ since: '2026-02-09', usual_daily_credits: 3_200n, recent_daily_credits: 12_900n },
      ...{ previous_same_point: 64_000n, days: { previous: [], current: [] } },
    },
  });
  expect(facts).toEqual({
    Tenant: 'acme',
    Workspace: 'ws-123',
    Credits: '180,000 in 2026-02, 100,000 in 2026-01 (+80,000, +80%)',
    Requests: '1,800 in 2026-02, 1,000 in 2026-01 (+800)',
    Forecast: '251,984 credits by the end of 2026-02, of which 71.4% have passed',
    Limit: '150,000 = max(1.5 x 100,000, 100,000 + 1,000), 100,000 being 2026-01',
    Difference: '151,984 credits',
    Since: '2026-02-09: 12,900 credits a day, 3,200 before',
    'Same point': '180,000 credits so far, 64,000 in 2026-01 at this point',
    Share: "12.5% of the workspace's credits, 33.3% of its increase",
    Why: 'more requests: +80,000 credits by the number of requests, 0 by what each costs',
  });
});

test.each([10_000n, 1_001n, 123_457n])('the equation of a drop from %d is true of its figures', (baseline) => {
  const limit = dropLimit(baseline, { ratio: 1.5, minCredits: 1000 });
  const threshold = { credits: limit, baseline_credits: baseline, ...THRESHOLD };
  const words = factsOf({ threshold }, { rule: 'drop', threshold: limit }).Limit ?? '';
  const figures = /^at most (\S+), because max\(1\.5 x (\S+), (\S+) \+ 1,000\) <= (\S+), \4 being 2026-01$/.exec(words);
  const [most = 0, byRatio = 0, byFloor = 0, before = 0] = (figures ?? [])
    .slice(1)
    .map((figure) => Number(figure.replaceAll(',', '')));
  expect(figures).not.toBeNull();
  expect(byRatio).toBe(most);
  expect(Math.max(1.5 * most, byFloor + 1000)).toBeLessThanOrEqual(before);
  expect(Math.max(1.5 * (most + 1), most + 1 + 1000)).toBeGreaterThan(before);
});

test('a limit that is rounded up says so', () => {
  const threshold = { credits: 150_002n, baseline_credits: 100_001n, ...THRESHOLD };
  expect(factsOf({ threshold }, { threshold: 150_002n }).Limit).toBe(
    '150,002 = max(1.5 x 100,001, 100,001 + 1,000) rounded up, 100,001 being 2026-01',
  );
});

test('what is not known is not said', () => {
  const nothing = { previous: null, current: null, threshold: null, tenant_id: null };
  expect(
    factsOf({ detail: 'HTTP 500' }, { ...nothing, rule: 'sync_failed', period: null, previous_period: null }),
  ).toEqual({
    Workspace: 'ws-123',
    Detail: 'HTTP 500',
  });
});

test('the commands to type next carry the id, and a plan what the period comes to', () => {
  const told = buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, at_stake_credits: 151_984n } }));
  expect(nextCommands(told, NOW)).toEqual([
    'usage-ledger alerts ack alert_1 --note "..."',
    'usage-ledger alerts silence --alert alert_1 --until 2026-05-08 --reason "..."',
    'usage-ledger alerts plan --alert alert_1 --up-to 310000 --until 2026-05-08 --reason "..."',
    'usage-ledger alerts feedback alert_1 real|expected|false',
  ]);
  const resolved = buildNotification(jumpFacts({ type: 'alert.resolved', state: 'resolved' }));
  expect(nextCommands(resolved, NOW)).toEqual(['usage-ledger alerts feedback alert_1 real|expected|false']);
  const self = buildNotification(jumpFacts({ rule: 'sync_failed', tenant_id: null, period: null }));
  expect(nextCommands(self, NOW)[0]).toBe('usage-ledger doctor');
});
