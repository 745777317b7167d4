import { expect, test } from 'vitest';
import type { Word } from '../../long/alert-year/reader/checks.ts';
import { FALSE_COUNTS } from '../../long/alert-year/reader/false-words.ts';
import { Reader, type ReadMessage } from '../../long/alert-year/reader/reader.ts';
import { Truth } from '../../long/alert-year/reader/truth.ts';

const LARGEST = 'Largest: t-0 30,000 (February 10,000).';

/** What the reader finds wrong with a message about five tenants, of 34 with ten thousand credits each, of which so many are over. */
function complaintsOf(summary: string, over: number, sum: number | null = 100_000) {
  const reader = new Reader(
    new Truth({
      ...{ ratio: 1.5, minCredits: 1_000, settleHours: 48, lookback: 2 },
      closedAtMs: () => null,
      plansOf: () => [],
    }),
  );
  const recordsAt = (used: number) =>
    Array.from({ length: 34 }, (_, index) =>
      ['2026-01', '2026-02', '2026-03'].map((period) => ({
        ...{ tenantId: `t-${index}`, period, requests: 10 },
        credits: period === '2026-03' && index < over ? used : 10_000,
      })),
    ).flat();
  reader.take({ atMs: Date.UTC(2026, 0, 1), from: '2026-01', records: recordsAt(10_000).slice(0, 0) });
  reader.take({ atMs: Date.UTC(2026, 2, 20), from: '2026-01', records: recordsAt(30_000) });
  const alerts = Array.from({ length: 5 }, (_, index) => ({
    ...{ alert_id: `alert_${index}`, rule: 'jump', type: 'alert.firing', event: 'opened', level: 'happened' },
    ...{ tenant_id: `t-${index}`, workspace_id: 'ws-1', period: '2026-03', created_at: '2026-03-20T00:00:00Z' },
    ...{ summary: '', evidence: { projection: null } },
  })) satisfies Word[];
  const [first] = alerts as [Word];
  const message: ReadMessage = { ...first, type: 'alert.group', summary, alerts, parts: 1, credits_change: sum };
  return reader.complaintsOfGroup(message).filter((complaint) => complaint !== null);
}

test.each([
  ['5 of 34 tenants of ws-1 are over their March limit, +100,000 credits together.', 5],
  ['5 more tenants of ws-1 are over their March limit, 14 of 34 in all, +100,000 credits together.', 14],
])('what a group says of all is read back: %s', (words, over) => {
  const summary = `${words} ${LARGEST}`;
  expect(complaintsOf(summary, over)).toEqual([]);
  // As many as these are not all, and the JSON says what the sentence says.
  expect(complaintsOf(summary, over + 1)).toHaveLength(1);
  expect(complaintsOf(summary, over, -100_000)).toHaveLength(1);
  for (const [what, falsify] of Object.entries(FALSE_COUNTS)) {
    const falsified = falsify(summary);
    if (falsified !== null) expect(complaintsOf(falsified, over), what).not.toEqual([]);
  }
  expect(complaintsOf('5 of 34 tenants have something.', over)).toEqual(['cannot be read']);
});
