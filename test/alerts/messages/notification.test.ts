import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { alertText } from '../../../src/alerts/messages/sentence.ts';
import { jumpFacts, NO_EVIDENCE } from '../channels/sample.ts';

const HOSTILE = 'a"b\u001b[31m\r\nFAKE: all is well\u202e\u2066\u200b\u0000\u009b';

describe('a notification', () => {
  it('carries the evidence of a jump in full', () => {
    expect(JSON.parse(renderPayload(buildNotification(jumpFacts())))).toEqual({
      notification_id: 'msg_0001',
      type: 'alert.firing',
      ...{ event: 'opened', revision: 1, episode: 1, closed_because: null },
      alert_id: 'alert_1',
      rule: 'jump',
      cause: null,
      rule_version: 1,
      level: 'happened',
      notified_count: 0,
      severity: 'critical',
      state: 'firing',
      workspace_id: 'ws-123',
      tenant_id: 'acme',
      tenant_name: null,
      period: '2026-02',
      previous_period: '2026-01',
      credits: { previous: 100_000, current: 180_000, change: 80_000, change_percent: 80 },
      requests: { previous: 1000, current: 1800, change: 800 },
      threshold: 150_000,
      reason: 'volume',
      evidence: jumpFacts().evidence,
      run_id: 'run-7',
      began_at: '2026-02-20T12:00:00.000Z',
      read_at: '2026-02-20T12:00:00.000Z',
      created_at: '2026-02-20T12:00:00.000Z',
      time_zone: 'UTC',
      link: null,
      acknowledge_link: null,
      title: 'acme (ws-123): 180,000 credits in February, limit 150,000',
      lines: ['January: 100,000.', 'More requests.'],
      summary: 'acme (ws-123): 180,000 credits in February, limit 150,000. January: 100,000. More requests.',
    });
  });

  it('writes figures beyond 2^53 as exact JSON integers', () => {
    const payload = renderPayload(
      buildNotification(
        jumpFacts({
          previous: { credits: 9_007_199_254_740_993n, requests: 9_007_199_254_740_995n },
          current: { credits: 9_223_372_036_854_775_807n, requests: 9_223_372_036_854_775_805n },
          threshold: 13_510_798_882_111_490n,
        }),
      ),
    );
    expect(payload).toContain(
      '"credits":{"previous":9007199254740993,"current":9223372036854775807,"change":9214364837600034814,',
    );
    expect(payload).toContain('"requests":{"previous":9007199254740995,"current":9223372036854775805,');
    expect(payload).toContain('"threshold":13510798882111490,');
  });

  it('rounds the percentage half away from zero to one decimal', () => {
    const percent = (previous: bigint, current: bigint) =>
      buildNotification(
        jumpFacts({ previous: { credits: previous, requests: 1n }, current: { credits: current, requests: 1n } }),
      ).credits?.change_percent;
    expect(percent(3n, 4n)).toBe(33.3);
    expect(percent(3n, 5n)).toBe(66.7);
    expect(percent(2000n, 2001n)).toBe(0.1);
    expect(percent(2000n, 1999n)).toBe(-0.1);
    expect(percent(10_000n, 9999n)).toBe(0);
    expect(percent(10n, 10n)).toBe(0);
    expect(percent(100n, 0n)).toBe(-100);
    expect(percent(1n, 2n ** 62n + 1n)).toBe(100 * 2 ** 62);
  });

  it('has no percentage without a positive previous figure', () => {
    const notification = buildNotification(jumpFacts({ previous: { credits: 0n, requests: 0n } }));
    expect(notification.credits?.change_percent).toBeNull();
    expect(notification.summary).toContain('180,000 credits in February, limit 150,000. January: 0.');
  });

  it('keeps every identifier exact, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (tenantId) => {
        const payload = renderPayload(buildNotification(jumpFacts({ tenant_id: tenantId })));
        expect(JSON.parse(payload).tenant_id).toBe(tenantId);
      }),
    );
    const lone = JSON.parse(renderPayload(buildNotification(jumpFacts({ tenant_id: '\ud800' }))));
    expect(lone.tenant_id).toBe('\ud800');
  });

  it('is one line without active characters, even with a hostile tenant name', () => {
    const payload = renderPayload(buildNotification(jumpFacts({ tenant_id: HOSTILE, workspace_id: HOSTILE })));
    expect(payload).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(payload).tenant_id).toBe(HOSTILE);
  });
});

const CLOSED = {
  ...{ type: 'alert.resolved' as const, state: 'resolved' as const },
  ...{ event: 'closed' as const, closed_because: 'gone' as const },
};

describe('the summary', () => {
  const summary = (changes: Parameters<typeof jumpFacts>[0]) => buildNotification(jumpFacts(changes)).summary;

  it('says that a jump has settled', () => {
    expect(summary({ event: 'worse', level: 'settled' })).toBe(
      'acme (ws-123): 180,000 credits in February, limit 150,000. January: 100,000. February has settled. More requests.',
    );
  });

  it.each([
    [{ rule: 'budget' as const }, 'budget alert closed, 180,000 credits, 120% of its budget of 150,000.'],
    [
      { rule: 'budget' as const, previous: null, current: null, threshold: null },
      'acme (ws-123): February budget alert closed. It has no budget any more.',
    ],
  ])('says of %j why it has ended', (facts, why) => {
    expect(summary({ ...CLOSED, ...facts })).toContain(why);
  });

  it('about new spend forecasts its open month', () => {
    const newcomer = { rule: 'new_spend' as const, previous: null, threshold: 1_000n };
    const projection = { credits: 252_000n, low_credits: null, high_credits: null, elapsed_fraction: 0.7143 };
    expect(summary({ ...newcomer, evidence: { ...NO_EVIDENCE, projection } })).toBe(
      'acme (ws-123): new, 180,000 credits in February, limit 1,000. Forecast: 252,000.',
    );
    expect(summary(newcomer)).not.toContain('Forecast');
  });

  it('says that a jump has ended', () => {
    expect(summary({ ...CLOSED, current: { credits: 110_000n, requests: 1100n } })).toBe(
      'acme (ws-123): February jump closed, 110,000 credits, limit 150,000. Under the limit. January: 100,000.',
    );
  });

  it.each([
    [
      ...(['likely', 130_000n, 150_000n] as const),
      'closed, forecast 130,000 credits, limit 150,000. It will probably stay under the limit',
    ],
    [
      ...(['likely', 90_000n, 150_000n] as const),
      'closed, forecast 110,000 credits, limit 150,000. It will probably stay under the limit',
    ],
    [
      ...(['likely', 160_000n, 150_000n] as const),
      'closed, forecast 160,000 credits, limit 150,000. It may stay under the limit',
    ],
    [
      ...(['happened', 130_000n, 150_000n] as const),
      'closed, 110,000 credits, limit 150,000. Under the limit. January: 100,000',
    ],
    [
      ...(['happened', 130_000n, null] as const),
      'closed, 110,000 credits. There is no earlier month to compare with any more',
    ],
  ] as const)(
    'explains the end of one that was %s, with a forecast of %d against %d',
    (level, credits, threshold, why) => {
      const evidence = {
        ...NO_EVIDENCE,
        projection: {
          credits: credits < 110_000n ? 110_000n : credits,
          low_credits: null,
          high_credits: null,
          elapsed_fraction: 0.5,
        },
      };
      const current = { credits: 110_000n, requests: 1100n };
      expect(summary({ ...CLOSED, level, threshold, current, evidence })).toBe(`acme (ws-123): February jump ${why}.`);
    },
  );

  it('makes a hostile tenant name inert and keeps it inside its quotes', () => {
    expect(summary({ tenant_id: HOSTILE })).toContain(
      '"a\\"b\\u001b[31m\\u000d\\u000aFAKE: all is well\\u202e\\u2066\\u200b\\u0000\\u009b" (ws-123): 180,000',
    );
  });

  it('cuts a very long name', () => {
    expect(summary({ tenant_id: '🚀'.repeat(5000) })).toContain(`"${'🚀'.repeat(80)}…"`);
  });

  it('is derived from the notification alone', () => {
    const notification = buildNotification(jumpFacts());
    const { title, lines } = notification;
    expect(alertText(notification)).toEqual({ title, lines });
    expect(notification.summary).toBe(`${title}. ${lines.join(' ')}`);
  });
});
