import { describe, expect, it, test } from 'vitest';
import type { Evidence } from '../../../src/alerts/messages/facts/facts.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { SYSTEM_RULES } from '../../../src/alerts/rules/rules.ts';
import { RULES } from '../../../src/core/text/alert-words.ts';
import { PAYLOAD_SCHEMA, payloadFaults } from '../../support/payload-schema.ts';
import { HOSTILE_NAMES } from '../channels/hostile.ts';
import { jumpFacts } from '../channels/sample.ts';

const BEYOND = 9_007_199_254_740_993n;
const LARGEST = 9_223_372_036_854_775_807n;
const CREATED_AT = '2026-02-20T12:00:00.000Z';
const SELF = {
  ...{ tenant_id: null, period: null, previous_period: null, previous: null, current: null, threshold: null },
} as const;

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));
const isSelf = (rule: string) => (SYSTEM_RULES as readonly string[]).includes(rule);

describe('the JSON Schema takes', () => {
  it.each(
    RULES.flatMap((rule) =>
      (['alert.firing', 'alert.escalated', 'alert.resolved'] as const).flatMap((type) =>
        (['likely', 'happened', 'settled'] as const).map((level) => ({ rule, type, level })),
      ),
    ),
  )('$rule $level as $type', ({ rule, type, level }) => {
    const state = type === 'alert.resolved' ? 'resolved' : 'firing';
    const cause = { sync_failed: 'service', job_failed: 'alerting' }[rule as string] ?? null;
    const about = isSelf(rule) ? { ...SELF, cause, run_id: null } : {};
    expect(payloadFaults(payloadOf({ rule, type, level, state, ...about }))).toEqual([]);
  });

  it('everything that evidence can say, in figures up to the largest', () => {
    const evidence: Evidence = {
      threshold: {
        ...{ credits: LARGEST, baseline_credits: BEYOND, baseline_period: '2025-12', ratio: 1.5 },
        min_credits: 1000,
      },
      planned_bounds: [BEYOND, LARGEST],
      projection: { credits: LARGEST, low_credits: null, high_credits: null, elapsed_fraction: 0.3333 },
      share_of_increase_percent: 33.3,
      share_of_workspace_percent: 12.5,
      at_stake_credits: LARGEST,
      at_stake_money: { amount: '92233720368547758.07', amount_minor: LARGEST, currency: 'EUR' },
      daily_usage: {
        ...{ since: '2026-02-09', usual_daily_credits: BEYOND, recent_daily_credits: LARGEST },
        previous_same_point: BEYOND,
        days: { previous: [null, 0n, BEYOND], current: [BEYOND, null, LARGEST] },
      },
      split: { volume_credits: -BEYOND, intensity_credits: LARGEST },
      entries: [
        { entry_id: 1, run_id: 'run_1', period: '2026-02', credits_delta: -BEYOND, credits_after: LARGEST },
        { entry_id: 2, run_id: 'run_2', period: '2026-02', credits_delta: BEYOND, credits_after: LARGEST },
      ],
      entry_count: 25,
      tenants: {
        largest: [{ tenant_id: HOSTILE_NAMES[0], previous_credits: BEYOND, current_credits: LARGEST }],
        common_growth: 1.9,
      },
      predecessor: {
        ...{ tenant_id: HOSTILE_NAMES[0], daily_credits: BEYOND, new_daily_credits: LARGEST, last_day: '2026-03-11' },
      },
      detail: 'the service answered 500',
    };
    const payload = payloadOf({
      ...{ evidence, threshold: LARGEST, tenant_id: HOSTILE_NAMES[0], tenant_name: HOSTILE_NAMES[1] },
      previous: { credits: BEYOND, requests: BEYOND },
      current: { credits: LARGEST, requests: LARGEST },
    });
    // Rounding by the parser must not be what makes an integer of it.
    expect(payload).toContain('"current":9223372036854775807,');
    expect(payloadFaults(payload)).toEqual([]);
  });

  it('a resolved alert without figures', () => {
    expect(payloadFaults(payloadOf({ type: 'alert.resolved', state: 'resolved', current: null }))).toEqual([]);
  });

  it('the message that tests a channel', () => {
    const payload = testPayload({ notificationId: 'msg_test_1', channel: HOSTILE_NAMES[0], createdAt: CREATED_AT });
    expect(payloadFaults(payload)).toEqual([]);
  });

  it('an alert about a job of the ledger, which stands in no workspace', () => {
    const job = { rule: 'job_failed' as const, cause: 'channel:on-call', workspace_id: null, period: null };
    expect(payloadFaults(payloadOf({ ...job, tenant_id: null, current: null }))).toEqual([]);
  });
});

describe('the JSON Schema refuses', () => {
  const whole = JSON.parse(payloadOf({})) as Record<string, unknown>;
  const refused = (changes: Record<string, unknown>) => payloadFaults(JSON.stringify({ ...whole, ...changes })).length;

  it.each(Object.keys(whole))('an alert without %s', (field) => {
    // JSON leaves out what is undefined.
    expect(refused({ [field]: undefined })).toBeGreaterThan(0);
  });

  it.each([
    ['a field that it does not name', { surprise: 1 }],
    ['a type that it does not name', { type: 'alert.unknown' }],
    ['a fraction of a credit', { threshold: 1.5 }],
    ['a figure as text', { threshold: '150000' }],
    ['a time that is none', { created_at: 'yesterday' }],
    ['a resolved alert that still fires', { type: 'alert.resolved' }],
    ['a service notice with the fields of an alert', { type: 'test' }],
    ['evidence with a field more', { evidence: { ...(whole.evidence as object), surprise: 1 } }],
  ])('%s', (_what, changes) => {
    expect(refused(changes)).toBeGreaterThan(0);
  });
});

test('the JSON Schema names every rule', () => {
  expect(PAYLOAD_SCHEMA.$defs.alert.properties.rule.enum).toEqual([...RULES]);
});
