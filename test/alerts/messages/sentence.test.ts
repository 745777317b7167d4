import { describe, expect, it, test } from 'vitest';
import { emailText } from '../../../src/alerts/channels/email-text.ts';
import { messageView } from '../../../src/alerts/channels/message-view.ts';
import { groupSentence, sumOf } from '../../../src/alerts/messages/group-sentence.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { systemKind } from '../../../src/alerts/rules/rules.ts';
import { NOTIFICATION_EVENTS, RULES, type RuleName } from '../../../src/core/text/alert-words.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';

// cspell:ignore escalat

/** Words of our own making, which say nothing to somebody who is woken by them. */
const OURS =
  /\bover:|\bpace|\bcertain|\bfinal\b|\bstake\b|heads? for|dead letter|takes what|escalat|\bfir(?:es|ed|ing)\b/i;

const MARCH = {
  ...{ period: '2026-03' as const, previous_period: '2026-02' as const, threshold: 15_000n },
  previous: { credits: 10_000n, requests: 100n },
  current: { credits: 16_000n, requests: 100n },
  ...{ read_at: '2026-03-20T12:00:00.000Z', created_at: '2026-03-20T12:00:00.000Z' },
};
const OF_NINE = { tenants: 9, likely: 0, reached: 2 };
const BUILT = {
  ...{ credits: 15_000n, baseline_credits: 10_000n, baseline_period: '2026-02', ratio: 1.5, min_credits: 1_000 },
};
const DAILY_USAGE = {
  ...{ since: '2026-03-14', usual_daily_credits: 350n, recent_daily_credits: 1_500n, previous_same_point: 7_000n },
  days: { previous: [], current: Array.from({ length: 20 }, (_, day) => (day < 16 ? BigInt(day) * 400n : 15_500n)) },
};
const EVIDENCE = {
  ...NO_EVIDENCE,
  threshold: BUILT,
  daily_usage: DAILY_USAGE,
  split: { volume_credits: 0n, intensity_credits: 5_600n },
};
const said = (changes: Parameters<typeof jumpFacts>[0]) =>
  buildNotification(jumpFacts({ ...MARCH, ...changes })).summary;

describe('what a message says', () => {
  it('dates the reading by the clock of its channel, and says that months are in UTC where its calendar differs', () => {
    const late = { read_at: '2026-03-31T03:30:00.000Z', created_at: '2026-04-01T03:59:00.000Z' };
    expect(said(late)).toMatch(/Figures as of 31 March\.$/);
    expect(said({ ...late, time_zone: 'America/New_York' })).toMatch(
      /Figures as of 30 March\. Billing months are in UTC\.$/,
    );
    expect(said({ ...late, time_zone: 'Europe/Berlin' })).toMatch(/Figures as of 31 March\.$/);
    expect(said({ ...late, time_zone: 'Asia/Kathmandu' })).not.toContain('Billing months');
  });

  it('names the jump, whom, how much beside what, the limit and when it was reached, and why', () => {
    expect(said({ evidence: EVIDENCE })).toBe(
      'ws-123: acme used 16,000 credits in March; February was 10,000. Limit: 15,000 (1.5 x February), passed by 17 March. Cause: each request costs more (+5,600 credits).',
    );
  });

  it('says of what is only expected that it is, and on which day of the month', () => {
    const projection = { credits: 24_000n, low_credits: null, high_credits: null, elapsed_fraction: 0.2 };
    expect(
      said({
        read_at: '2026-03-07T12:00:00.000Z',
        created_at: '2026-03-07T13:00:00.000Z',
        ...{ level: 'likely', severity: 'warning', current: { credits: 4_000n, requests: 40n } },
        evidence: { ...NO_EVIDENCE, threshold: BUILT, projection },
      }),
    ).toBe(
      'ws-123: acme will probably pass its March limit: forecast 24,000, limit 15,000 (day 7 of 31). So far it used 4,000 credits; February was 10,000 (the limit is 1.5 x February).',
    );
  });

  it('says what a month comes to at least and at most, where that is known', () => {
    const projection = { credits: 20_000n, low_credits: 18_000n, high_credits: 24_000n, elapsed_fraction: 0.2 };
    expect(said({ level: 'likely', evidence: { ...NO_EVIDENCE, threshold: BUILT, projection } })).toContain(
      'acme will probably pass its March limit: forecast 18,000 to 24,000, limit 15,000 (day 20 of 31).',
    );
  });

  it('reminds of what nobody has acknowledged, and says nothing else of it', () => {
    expect(said({ event: 'reminder' })).toMatch(/Limit: 15,000\. Not acknowledged yet\.$/);
  });

  it('says of who has come to the limit that it is there, and not over it', () => {
    expect(said({ current: { credits: 15_000n, requests: 100n } })).toContain('10,000. Limit: 15,000.');
  });

  it('compares with the month that the rule compares with', () => {
    const threshold = { ...BUILT, baseline_period: '2025-03' };
    expect(said({ previous_period: '2025-03', evidence: { ...NO_EVIDENCE, threshold } })).toContain(
      'March 2025 was 10,000. Limit: 15,000 (1.5 x March 2025)',
    );
  });

  it('says what it costs, and what has been planned', () => {
    const money = { amount: '1234.50', amount_minor: 123_450n, currency: 'EUR' };
    expect(said({ evidence: { ...NO_EVIDENCE, at_stake_money: money, planned_bounds: [12_000n, 14_000n] } })).toMatch(
      /Planned was growth up to 12,000 and 14,000\. The increase costs 1,234\.50 EUR\.$/,
    );
  });

  it('stands for several by their number, what they have in common, their sum and the largest', () => {
    const names = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];
    const all = names.map((tenantId) =>
      buildNotification(
        jumpFacts({ ...MARCH, workspace_id: 'ws-1', tenant_id: tenantId, current: { credits: 30_000n, requests: 1n } }),
      ),
    );
    expect(groupSentence(all, { tenants: 16, likely: 3, reached: 6 })).toBe(
      '6 of 16 tenants of ws-1 are over their March limit, +120,000 credits together. Largest: alpha 30,000 (February 10,000), beta 30,000 (February 10,000), gamma 30,000 (February 10,000), delta 30,000 (February 10,000), epsilon 30,000 (February 10,000) and 1 more.',
    );
  });

  it('says of more than it is about, where it is so of more, and adds up no figures of several kinds', () => {
    const projection = { credits: 30_000n, low_credits: null, high_credits: null, elapsed_fraction: 0.5 };
    const of = (changes: Parameters<typeof jumpFacts>[0]) =>
      ['alpha', 'beta'].map((tenantId) =>
        buildNotification(jumpFacts({ ...MARCH, workspace_id: 'ws-1', tenant_id: tenantId, ...changes })),
      );
    const all = { tenants: 34, likely: 3, reached: 14 };
    const likely = of({ level: 'likely', evidence: { ...NO_EVIDENCE, projection } });
    expect(groupSentence(of({}), all)).toContain(
      '2 more tenants of ws-1 are over their March limit, 14 of 34 in all, +12,000 credits together. Largest',
    );
    expect(groupSentence(likely, all)).toContain(
      '2 more tenants of ws-1 will probably pass their March limit, 3 of 34 in all, forecast +40,000 credits together.',
    );
    expect(groupSentence([...of({}), ...likely], all)).toContain(
      '4 more tenants of ws-1 are over their March limit or will probably pass it, 17 of 34 in all. Largest',
    );
    expect([sumOf(of({})), sumOf(likely), sumOf([...of({}), ...likely])]).toEqual([12_000n, 40_000n, null]);
    expect(groupSentence(of({ event: 'grown' }), all)).toContain(
      '2 tenants of ws-1 are over their March limit, 14 of 34',
    );
    expect(groupSentence(of({ rule: 'drop', level: 'likely' }), all)).not.toContain('together');
  });

  it('gives no reason of less than a twentieth, and names a first month as a whole one', () => {
    const split = { volume_credits: 5_990n, intensity_credits: 10n };
    const threshold = { ...BUILT, baseline_credits: 12_000n, ratio: 1.1, min_credits: 3_000 };
    const words = said({ evidence: { ...EVIDENCE, split, threshold } });
    expect(words).toMatch(/ Cause: more requests \(\+5,990 credits\)\.$/);
    expect(words).toContain('(12,000 + 3,000, February as a whole month)');
  });

  it('says of an end only where there was one', () => {
    expect(said({ event: 'again', episode: 2 })).toContain(' It had ended and holds again.');
    expect(said({ event: 'again', episode: 1 })).not.toContain('ended');
  });

  it('dates figures that are older than a day, and ends by the figures of now alone', () => {
    expect(said({ read_at: '2026-03-17T06:00:00.000Z' })).toMatch(/ Figures as of 17 March\.$/);
    expect(said({ read_at: '2026-03-20T06:00:00.000Z' })).not.toContain('were read');
    const closed = { event: 'closed', closed_because: 'gone', type: 'alert.resolved', state: 'resolved' } as const;
    const raised = { ...closed, threshold: 30_000n, previous: { credits: 20_000n, requests: 1n } };
    expect(said({ ...raised, evidence: NO_EVIDENCE })).toBe(
      'ws-123: acme is under its March limit of 30,000: 16,000 credits; February was 20,000.',
    );
    const fallen = { rule: 'drop', level: 'settled', current: { credits: -1_100n, requests: 0n } } as const;
    expect(said({ ...fallen, threshold: 6_000n })).toContain('Alerts at 6,000 or less.');
  });

  it('says of what was corrected in one month what it was before', () => {
    const all = ['alpha', 'beta'].map((tenantId) =>
      buildNotification(
        jumpFacts({
          ...MARCH,
          ...{ rule: 'restatement', tenant_id: tenantId, previous_period: '2026-03', threshold: null },
        }),
      ),
    );
    expect(groupSentence(all, OF_NINE)).toContain(
      'Largest: alpha 16,000 (before 10,000), beta 16,000 (before 10,000).',
    );
  });

  it.each([
    [['unrouted', 'unrouted'], 'The March jump of 2 tenants of ws-1 is no longer sent here; it is still open'],
    [['left_window', 'left_window'], 'Closed: March has left the alert window (jump of 2 tenants of ws-1)'],
    [['workspace_ended', 'workspace_ended'], 'Closed: ws-1 is no longer read (March jump of 2 tenants of ws-1)'],
    [['gone', 'gone'], 'The March jump of 2 tenants of ws-1 is over. Largest'],
    [['unrouted', 'gone'], 'The March jump of 2 tenants of ws-1 is over or no longer sent here'],
  ] as const)('says of many ends why, if they have it in common: %j', (reasons, words) => {
    const ended = reasons.map((closed_because, index) =>
      buildNotification(
        jumpFacts({ ...MARCH, workspace_id: 'ws-1', tenant_id: `t-${index}`, event: 'closed', closed_because }),
      ),
    );
    expect(groupSentence(ended, OF_NINE)).toContain(words);
  });

  it('says of a channel that fails why, how much is left, and the newest of it', () => {
    const detail = 'HTTP 404. 3 alerts were not delivered; the newest is "ws-1: acme used 16,000 credits in March"';
    const { summary } = buildNotification(ownFacts('job_failed', 'channel:on-call', detail));
    expect(summary).toBe(
      'Channel on-call fails: HTTP 404. 3 alerts were not delivered; the newest is "ws-1: acme used 16,000 credits in March". Once it works, run `usage-ledger alerts replay --all-dead`.',
    );
  });
});

const MONEY = { amount: '12.00', amount_minor: 1_200n, currency: 'EUR' };
const RICH = {
  ...EVIDENCE,
  at_stake_credits: 6_000n,
  at_stake_money: MONEY,
  projection: { credits: 24_000n, low_credits: null, high_credits: null, elapsed_fraction: 0.6 },
};
function ownFacts(rule: RuleName, cause: string | null, detail: string | null) {
  const isOfLedger = systemKind(rule)?.scope === 'ledger' && cause !== 'alerting';
  return jumpFacts({
    ...{ rule, cause, workspace_id: isOfLedger ? null : 'ws-1', period: null, tenant_id: null },
    ...{ previous: null, current: null, threshold: null, evidence: { ...NO_EVIDENCE, detail } },
  });
}

/** Every rule with whatever else decides what is said of it. */
const EVERYTHING = RULES.flatMap((rule) => {
  const own = systemKind(rule);
  if (own !== null) {
    const causes = Object.keys(own.causes).map((cause) => (cause === 'channel' ? 'channel:on-call' : cause || null));
    return causes.map((cause) => ownFacts(rule, cause, 'HTTP 500'));
  }
  return (['likely', 'happened', 'settled'] as const).flatMap((level) =>
    [NO_EVIDENCE, RICH].map((evidence) => jumpFacts({ ...MARCH, rule, level, evidence })),
  );
});

test('no message of any rule, event and level has a word of our own making', () => {
  for (const facts of EVERYTHING) {
    for (const event of NOTIFICATION_EVENTS) {
      for (const closedBecause of event === 'closed'
        ? (['gone', 'left_window', 'workspace_ended', 'unrouted'] as const)
        : [null]) {
        const notification = buildNotification({ ...facts, event, closed_because: closedBecause });
        const view = messageView(renderPayload(notification));
        if (view === null) throw new Error('the payload cannot be read');
        const { subject, text, html } = emailText(view);
        const together = groupSentence([notification, notification], OF_NINE);
        for (const words of [notification.summary, together, subject, text, html.replace(/<[^>]*>/g, '')])
          expect(words, `${facts.rule} ${event} ${facts.level}`).not.toMatch(OURS);
        expect(notification.summary).not.toMatch(/undefined|null|NaN|\s\s|\.\./);
      }
    }
  }
});

test('nor has the message that tests a channel', () => {
  const payload = testPayload({ notificationId: 'msg_1', channel: 'on-call', createdAt: '2026-03-20T12:00:00.000Z' });
  const view = messageView(payload);
  if (view === null) throw new Error('the payload cannot be read');
  expect(emailText(view).text).not.toMatch(OURS);
});
