import { describe, expect, it, test } from 'vitest';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { alertFacts } from '../../../src/alerts/messages/fact-list.ts';
import { groupText, largestWords, sumOf } from '../../../src/alerts/messages/group-sentence.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';
import { everyMessage, systemFacts } from './every-message.ts';

// cspell:ignore escalat

/** Words that mean nothing to somebody who is woken by a message. */
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
const EVIDENCE = { ...NO_EVIDENCE, threshold: BUILT, daily_usage: DAILY_USAGE };
const MONEY = { amount: '1234.50', amount_minor: 123_450n, currency: 'EUR' };
const projectionOf = (credits: bigint, low: bigint | null = null, high: bigint | null = null) => ({
  ...{ credits, low_credits: low, high_credits: high, elapsed_fraction: 0.2 },
});

type Changes = Parameters<typeof jumpFacts>[0];
const told = (changes: Changes) => buildNotification(jumpFacts({ ...MARCH, ...changes }));

/** Title and lines, as a person reads them. */
function read(changes: Changes): string[] {
  const { title, lines } = told(changes);
  return [title, ...lines];
}

describe('a message', () => {
  it('dates the reading by the clock of its channel, and says that months are in UTC where its calendar differs', () => {
    const late = { read_at: '2026-03-31T03:30:00.000Z', created_at: '2026-04-01T03:59:00.000Z' };
    const dated = (changes: Changes) => read({ ...late, ...changes }).join(' ');
    expect(dated({})).toContain('Figures as of 31 March.');
    expect(dated({ time_zone: 'America/New_York' })).toContain('Figures as of 30 March. Billing months are in UTC.');
    expect(dated({ time_zone: 'Europe/Berlin' })).toContain('Figures as of 31 March.');
    expect(dated({ time_zone: 'Asia/Kathmandu' })).not.toContain('Billing months');
  });

  it('about a jump has who, what and how much in its title, then figures, causes and cost', () => {
    const evidence = { ...EVIDENCE, at_stake_money: MONEY };
    expect(read({ current: { credits: 16_000n, requests: 160n }, evidence })).toEqual([
      'acme (ws-123): 16,000 credits in March, limit 15,000',
      'February: 10,000. Limit passed by 17 March. Since 14 March: 1,500 a day, before: 350.',
      'More requests.',
      'Costs 1,234.50 EUR more than February.',
    ]);
  });

  it('about a forecast has its range, and compares with the same point of the month before', () => {
    const likely = { level: 'likely', severity: 'warning', current: { credits: 17_500n, requests: 175n } } as const;
    const evidence = { ...EVIDENCE, projection: projectionOf(20_123n, 18_051n, 24_449n), at_stake_money: MONEY };
    expect(read({ ...likely, threshold: 15_000n, evidence })).toEqual([
      'acme (ws-123): March forecast 18,100 to 24,400 credits, limit 15,000',
      '17,500 so far, 2.5x the same point in February. Since 14 March: 1,500 a day, before: 350.',
      'More requests.',
      'Costs about 1,230 EUR more than February.',
    ]);
  });

  it('names the compared month where the same point of the month before is not larger or not known', () => {
    const likely = { level: 'likely' as const, current: { credits: 4_000n, requests: 40n } };
    const evidence = { ...NO_EVIDENCE, threshold: BUILT, projection: projectionOf(24_000n) };
    expect(read({ ...likely, evidence })[1]).toBe('4,000 so far. February: 10,000.');
    const slow = { ...DAILY_USAGE, since: null };
    expect(read({ ...likely, evidence: { ...evidence, daily_usage: slow } })[1]).toBe(
      '4,000 so far. February: 10,000.',
    );
    const yearBefore = { ...evidence, daily_usage: { ...slow, previous_same_point: 1_000n } };
    expect(read({ ...likely, previous_period: '2025-03', evidence: yearBefore })[1]).toBe(
      '4,000 so far. March 2025: 10,000.',
    );
  });

  it.each([
    ['a figure and a range', 252_114n, 427_390n, 100_000n, '252,000 to 427,000'],
    ['a range of one figure', 252_114n, 252_390n, 100_000n, '252,000'],
    ['a figure on the other side of the limit', 252_114n, 427_390n, 427_200n, '252,000 to 427,390'],
    ['a figure below the used credits', 16_012n, 427_390n, 1_000n, '16,012 to 427,000'],
  ])('rounds a forecast to three digits: %s', (_what, low, high, threshold, words) => {
    const evidence = { ...NO_EVIDENCE, projection: projectionOf(252_114n, low, high) };
    expect(read({ level: 'likely', current: { credits: 16_009n, requests: 1n }, threshold, evidence })[0]).toContain(
      `forecast ${words} credits`,
    );
    const projection = told({ level: 'likely', evidence }).evidence.projection;
    expect(projection).toMatchObject({ low_credits: low, high_credits: high });
  });

  it.each([
    [160n, 'More requests.'],
    [100n, 'Each request costs more.'],
    [130n, 'More requests, and each costs more.'],
    // 1,400 of 6,000 credits are less than a quarter; 1,500 are not.
    [114n, 'Each request costs more.'],
    [115n, 'More requests, and each costs more.'],
    // Fewer credits for each request are no cause of a growth.
    [400n, 'More requests.'],
  ])('names causes that explain a quarter of the growth: from 100 to %d requests', (requests, cause) => {
    expect(read({ current: { credits: 16_000n, requests } })[2]).toBe(cause);
  });

  it.each([
    ['rose and explains the growth', { usual_daily_credits: 350n, recent_daily_credits: 1_500n }, true],
    ['fell, in a month that grows', { usual_daily_credits: 302n, recent_daily_credits: 284n }, false],
    // Six and a half days with 230 credits more are 1,495 of 6,000: just less than a quarter.
    ['rose too little', { usual_daily_credits: 350n, recent_daily_credits: 580n }, false],
    ['rose just enough', { usual_daily_credits: 350n, recent_daily_credits: 581n }, true],
  ])('names a change of daily usage where it %s', (_what, rates, isNamed) => {
    const evidence = { ...EVIDENCE, daily_usage: { ...DAILY_USAGE, ...rates } };
    const facts = jumpFacts({ ...MARCH, evidence });
    expect(read({ evidence }).join(' ').includes('Since 14 March')).toBe(isNamed);
    expect(alertFacts(buildNotification(facts)).some(({ label }) => label === 'Since')).toBe(isNamed);
  });

  it('of a forecast compares a change of daily usage with the growth until the end of the month', () => {
    const likely = { level: 'likely', current: { credits: 5_000n, requests: 50n } } as const;
    const since = (recent: bigint) => {
      const daily_usage = { ...DAILY_USAGE, recent_daily_credits: recent };
      return read({ ...likely, evidence: { ...EVIDENCE, daily_usage, projection: projectionOf(28_000n) } })[1];
    };
    // Eighteen days with 250 credits more are a quarter of 18,000.
    expect(since(600n)).toContain('Since 14 March: 600 a day, before: 350.');
    expect(since(599n)).not.toContain('Since');
  });

  it.each([
    [
      'drop',
      { current: { credits: 9_000n, requests: 9n }, threshold: 5_000n },
      ['9,000 credits in March, down 10%', ''],
    ],
    ['drop', { current: { credits: 11_000n, requests: 9n }, threshold: 5_000n }, ['11,000 credits in March', '']],
    [
      'regression',
      { current: { credits: 10_000n, requests: 9n } },
      ['lost credits of March are back, 10,000 credits', 'They were lost more than once'],
    ],
    [
      'restatement',
      { current: { credits: 10_000n, requests: 9n } },
      ['settled March is unchanged again, 10,000 credits', 'It changed more than once'],
    ],
    [
      'withdrawn',
      { current: { credits: 12_000n, requests: 9n } },
      ['listed again in March, 12,000 credits', 'It was missing more than once'],
    ],
  ] as const)(
    'of a %s does not contradict figures that were corrected while it is open',
    (rule, changes, [title, more]) => {
      const evidence = { ...EVIDENCE, at_stake_money: MONEY };
      const [first, ...lines] = read({ rule, evidence, ...changes });
      expect(first).toBe(`acme (ws-123): ${title}`);
      expect(lines.join(' ')).toContain(more);
      expect(lines.join(' ')).not.toMatch(/Alerts at|lost credits cost|These credits cost/);
    },
  );

  it('names no cause where the requests of before are unknown', () => {
    expect(read({ previous: { credits: 10_000n, requests: 0n } })).toHaveLength(2);
  });

  it('names the tenant with its name', () => {
    expect(read({ tenant_name: 'Acme Ltd' })[0]).toMatch(/^acme \(Acme Ltd, ws-123\): 16,000/);
  });

  it('says how it differs from earlier ones', () => {
    expect(read({ event: 'reminder' })[1]).toMatch(/^Not acknowledged yet\. February: 10,000\./);
    expect(read({ event: 'grown' })[1]).toMatch(/^Grown since the last message\. /);
    expect(read({ event: 'again', episode: 2 })[1]).toMatch(/^It had ended and holds again\. /);
    expect(read({ event: 'again', episode: 1 })[1]).not.toContain('ended');
    const forecast = { ...EVIDENCE, projection: projectionOf(24_000n) };
    expect(read({ event: 'eased', level: 'likely', evidence: forecast })[1]).toMatch(
      /^Corrected: now it is only a forecast again\. /,
    );
    expect(read({ event: 'eased' })[1]).toMatch(/^Corrected since the last message\. /);
  });

  it('names the plans that the growth has passed', () => {
    expect(read({ evidence: { ...NO_EVIDENCE, planned_bounds: [12_000n, 14_000n] } })[1]).toMatch(
      / Planned: up to 12,000 and 14,000\.$/,
    );
  });

  it('says how a limit follows from the first days of a workspace', () => {
    const detail = 'the first 16 days of readings, with 450 credits a day';
    expect(read({ evidence: { ...NO_EVIDENCE, detail } })[1]).toContain(
      'The limit follows from the first 16 days of readings, with 450 credits a day.',
    );
  });

  it('dates figures that are older than a day', () => {
    expect(read({ read_at: '2026-03-17T06:00:00.000Z' })[1]).toMatch(/ Figures as of 17 March\.$/);
    expect(read({ read_at: '2026-03-20T06:00:00.000Z' })[1]).not.toContain('Figures as of');
  });

  it.each([
    ['9.99', 'about 9.99 EUR'],
    ['9.50', 'about 9.50 EUR'],
    ['10.49', 'about 10 EUR'],
    ['64.50', 'about 65 EUR'],
    ['646.13', 'about 646 EUR'],
    ['10363.88', 'about 10,400 EUR'],
  ])('rounds the cost %s of a forecast to %s', (amount, words) => {
    const evidence = {
      ...{ ...NO_EVIDENCE, projection: projectionOf(24_000n) },
      at_stake_money: { amount, amount_minor: BigInt(amount.replace('.', '')), currency: 'EUR' },
    };
    expect(read({ level: 'likely', evidence }).at(-1)).toBe(`Costs ${words} more than February.`);
  });

  it('about a workspace names the shared growth and the three largest increases of its forecast', () => {
    const largest = [
      ['a', 1_000n, 3_000n],
      ['b', 1_000n, 2_500n],
      ['c', 0n, 1_111n],
      ['d', 0n, 1_000n],
    ] as const;
    const tenants = {
      common_growth: 1.6,
      largest: largest.map(([tenant_id, previous_credits, current_credits]) => ({
        ...{ tenant_id, previous_credits, current_credits },
      })),
    };
    const of = (changes: Changes) =>
      read({ rule: 'workspace_jump', tenant_id: null, current: { credits: 12_000n, requests: 120n }, ...changes });
    const likely = { ...NO_EVIDENCE, tenants, projection: projectionOf(24_000n) };
    expect(of({ level: 'likely', evidence: likely })).toEqual([
      'ws-123: March forecast 24,000 credits, limit 15,000',
      '12,000 so far. February: 10,000.',
      'More than half of its tenants will probably reach at least 1.6x February. Largest increases: a +5,000, b +4,000, c +2,220.',
    ]);
    expect(of({ level: 'settled', evidence: { ...likely, projection: null } })[2]).toBe(
      'More than half of its tenants have reached at least 1.6x February. Largest increases: a +2,000, b +1,500, c +1,111.',
    );
  });
});

describe('the message about an end', () => {
  const closed = { event: 'closed', closed_because: 'gone', type: 'alert.resolved', state: 'resolved' } as const;
  it('has the reason in its line', () => {
    const raised = { ...closed, threshold: 30_000n, previous: { credits: 20_000n, requests: 1n } };
    expect(read(raised)).toEqual([
      'acme (ws-123): March jump closed, 16,000 credits, limit 30,000',
      'Under the limit. February: 20,000.',
    ]);
  });

  it.each([
    ['left_window', 'closed', 'March has left the alert window.'],
    ['workspace_ended', 'closed', 'The workspace is no longer read.'],
    ['unrouted', 'no longer sent here', 'It is still open.'],
  ] as const)('because of %s', (closed_because, end, why) => {
    expect(read({ ...closed, closed_because })).toEqual([`acme (ws-123): March jump ${end}`, why]);
  });
});

describe('the message about a fall', () => {
  it('does not say that less than nothing was used', () => {
    const fallen = { rule: 'drop', level: 'settled', current: { credits: -1_100n, requests: 0n } } as const;
    expect(read({ ...fallen, threshold: 6_000n })).toEqual([
      'acme (ws-123): -1,100 credits in March',
      'February: 10,000. Alerts at 6,000 or less. March has settled.',
    ]);
  });
});

describe('the message about several tenants', () => {
  const of = (ids: readonly string[], changes: Changes) =>
    ids.map((tenant_id) => told({ workspace_id: 'ws-1', tenant_id, ...changes }));

  it('has their number, what they have in common and their sum in its title, and names the largest', () => {
    const all = of(['alpha', 'beta', 'gamma', 'delta'], { current: { credits: 30_000n, requests: 1n } });
    expect(groupText(all, { tenants: 16, likely: 3, reached: 4 })).toEqual({
      title: '4 of 16 tenants of ws-1 are over their March limit, +80,000 credits together',
      lines: [],
    });
    expect(largestWords(all)).toBe(
      'Largest: alpha 30,000 (February 10,000), beta 30,000 (February 10,000), gamma 30,000 (February 10,000) and 1 more.',
    );
  });

  it('counts those of whom it is so already, and adds up no figures of several kinds', () => {
    const two = ['alpha', 'beta'];
    const all = { tenants: 34, likely: 3, reached: 14 };
    const likely = of(two, {
      level: 'likely',
      evidence: { ...NO_EVIDENCE, projection: projectionOf(30_120n) },
    });
    const happened = of(two, {});
    const titleOf = (members: Parameters<typeof groupText>[0]) => groupText(members, all).title;
    expect(titleOf(happened)).toBe(
      '2 more tenants of ws-1 are over their March limit, 14 of 34 in all, +12,000 credits together',
    );
    expect(titleOf(likely)).toBe(
      '2 more tenants of ws-1 will probably pass their March limit, 3 of 34 in all, forecast +40,200 credits together',
    );
    expect(titleOf([...happened, ...likely])).toBe(
      '4 more tenants of ws-1 are over their March limit or will probably pass it, 17 of 34 in all',
    );
    expect([sumOf(happened), sumOf(likely), sumOf([...happened, ...likely])]).toEqual([12_000n, 40_240n, null]);
    const grown = groupText(of(two, { event: 'grown' }), all);
    expect(grown.title).toContain('2 tenants of ws-1 are over their March limit, 14 of 34');
    expect(grown.lines).toEqual(['Grown since the last message.']);
    expect(titleOf(of(two, { rule: 'drop', level: 'likely' }))).not.toContain('together');
  });

  it('compares corrections of one month with what it was before', () => {
    const all = of(['alpha', 'beta'], { rule: 'restatement', previous_period: '2026-03', threshold: null });
    expect(largestWords(all)).toBe('Largest: alpha 16,000 (before 10,000), beta 16,000 (before 10,000).');
  });

  it.each([
    [['unrouted', 'unrouted'], 'no longer sent here', ['They are still open.']],
    [['left_window', 'left_window'], 'closed', ['March has left the alert window.']],
    [['workspace_ended', 'workspace_ended'], 'closed', ['The workspace is no longer read.']],
    [['gone', 'gone'], 'closed', []],
    [['unrouted', 'gone'], 'closed', ['Ended, or no longer sent here.']],
  ] as const)('says why they ended, if the reasons %j have something in common', (reasons, end, lines) => {
    const ended = reasons.map((closed_because, index) =>
      told({ workspace_id: 'ws-1', tenant_id: `t-${index}`, event: 'closed', closed_because }),
    );
    expect(groupText(ended, OF_NINE)).toEqual({ title: `March jump of 2 tenants of ws-1 ${end}`, lines });
  });
});

describe('the message about a system alert', () => {
  it('has the fault in its title, then the reason and the remedy', () => {
    const detail = 'HTTP 404. 3 alerts were not delivered; the newest is "acme (ws-1): 16,000 credits in March"';
    const { title, lines } = buildNotification(systemFacts('job_failed', 'channel:on-call', detail));
    expect([title, ...lines]).toEqual([
      'Channel on-call fails',
      'HTTP 404. 3 alerts were not delivered; the newest is "acme (ws-1): 16,000 credits in March".',
      'Once it works, run `usage-ledger alerts replay --all-dead`.',
    ]);
  });

  it('names three of several workspaces', () => {
    const all = ['ws-1', 'ws-2', 'ws-3', 'ws-4'].map((workspace_id) =>
      buildNotification({ ...systemFacts('sync_failed', 'service', 'HTTP 503'), workspace_id }),
    );
    expect(groupText(all, OF_NINE)).toEqual({
      title: '4 workspaces cannot be read',
      lines: ['Workspaces: ws-1, ws-2, ws-3 and 1 more.', 'Run `usage-ledger doctor`.'],
    });
  });
});

test('the message of every rule, event and level has a short title, at most three lines, and plain words', () => {
  for (const notification of everyMessage()) {
    const { rule, event, level, title, lines, summary } = notification;
    const about = `${rule} ${event} ${level}: ${summary}`;
    expect(title.length, about).toBeLessThanOrEqual(100);
    expect(title, about).toMatch(/[^.,: ]$/);
    expect(lines.length, about).toBeLessThanOrEqual(3);
    for (const line of lines) {
      expect(line, about).toMatch(/\.$/);
      expect(line.length, about).toBeLessThanOrEqual(200);
    }
    const message = readMessage(renderPayload(notification));
    if (message === null) throw new Error('the payload cannot be read');
    const { subject, text, html } = createEmailText(message);
    const together = groupText([notification, notification], OF_NINE);
    const group = [together.title, ...together.lines];
    for (const words of [summary, ...group, subject, text, html.replace(/<style>.*<\/style>|<[^>]*>/g, '')])
      expect(words, about).not.toMatch(OURS);
    for (const words of [summary, ...group]) expect(words, about).not.toMatch(/undefined|null|NaN|\s\s|\.\.|\( | \)/);
  }
});

test('the message that tests a channel has plain words, too', () => {
  const payload = testPayload({ notificationId: 'msg_1', channel: 'on-call', createdAt: '2026-03-20T12:00:00.000Z' });
  const view = readMessage(payload);
  if (view === null) throw new Error('the payload cannot be read');
  expect(createEmailText(view).text).not.toMatch(OURS);
});
