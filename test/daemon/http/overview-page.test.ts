import { describe, expect, it } from 'vitest';
import { type Overview, overviewPage } from '../../../src/daemon/http/pages/overview-page.ts';
import { lineOf, OUTLET, overviewOf } from './measured.ts';

const NONE = { events: 0, quantity: 0n };
const HOSTILE = '<script>alert(1)</script>"\'&\u202e';

describe('the page /', () => {
  it('shows the overall state in its title and first line', () => {
    expect(overviewPage(overviewOf())).toMatch(/<title>ok: usage-ledger<\/title>[\s\S]*Running\. No open alerts\./);
    const open = overviewPage(overviewOf({ hiddenAlerts: 3 }));
    expect(open).toMatch(/<title>ok: [\s\S]*Running\. 3 open alerts\./);
    expect(open).not.toContain('Running. No open alerts');
    const failed = lineOf({ state: 'failed', last_status: 'failed' });
    for (const some of [
      { workspaces: [failed] },
      { faults: [{ code: 'redis_unavailable', message: 'Redis is not available' } as const] },
      { outbox: { pending: 0, held: 0, dead: 3 } },
    ]) {
      expect(overviewPage(overviewOf(some))).toMatch(/<title>attention: [\s\S]*Needs attention/);
    }
  });

  it('escapes external text, has no script and no external references', () => {
    const page = overviewPage(overviewOf({ workspaces: [lineOf({ name: HOSTILE, workspace_id: HOSTILE })] }));
    expect(page).not.toContain('<script');
    expect(page).not.toContain('\u202e');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\u202e');
    expect(page).not.toMatch(/https?:\/\/|<form|<button|<input/);
  });

  it('shows the time range of failed jobs, and sizes in suitable units', () => {
    const sync = { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 100 };
    const storage = { ledgerBytes: 4096, logBytes: 5 * 1024 ** 2, diskFreeBytes: 72.5 * 1024 ** 3 };
    const page = overviewPage(overviewOf({ queues: { sync }, storage }));
    expect(page).toContain('100 failed in the last days');
    expect(page).toContain('0.0 MiB, write-ahead log 5.0 MiB, 72.5 GiB free');
  });

  it('describes each outlet as `status` does', () => {
    const none = { held: NONE, late: NONE, refused: NONE, settled: NONE };
    const outlets = [OUTLET, { ...OUTLET, name: 'other', waiting: 1200, events: none }];
    const page = overviewPage(overviewOf({ outlets }));
    expect(page).toContain('<dt>outlet billing</dt><dd>2 events (5 credits) too old for the receiver; 2 events');
    expect(page).toContain('<dt>outlet other</dt><dd>1,200 waiting</dd>');
  });

  it('distinguishes an unavailable Redis from empty queues', () => {
    expect(overviewPage(overviewOf())).toContain('0 waiting, 0 active');
    expect(overviewPage(overviewOf({ queues: null }))).toContain('Redis is not available');
  });
});

it('shows summary, start and silence of an open alert', () => {
  const alert = {
    alert_id: 'alert_1',
    severity: 'critical',
    state: 'firing',
    first_fired_at: '2026-03-11T08:00:00.000Z',
    muted_because: 'silence:silence_7',
    at_stake_credits: 9_090n,
    summary: 'acme used 19,090 credits in March.',
  } as Overview['alerts'][number];
  const page = overviewPage(overviewOf({ alerts: [alert], hiddenAlerts: 26 }));
  expect(page).toContain('2026-03-11');
  expect(page).toContain('acme used 19,090 credits in March. <small>muted by silence_7</small>');
  expect(page).toContain('and 26 more');
});
