import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emailText } from '../../../src/alerts/channels/email-text.ts';
import { messageView } from '../../../src/alerts/channels/message-view.ts';
import { groupMessages } from '../../../src/alerts/messages/group.ts';
import { buildNotification } from '../../../src/alerts/messages/notification.ts';
import { routesOf } from '../../../src/alerts/pipeline/route.ts';
import { startBrowser } from '../../support/browser.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

type Changes = Parameters<typeof jumpFacts>[0];

const [ROUTE] = routesOf([{ type: 'log', name: 'mail' }]);

/** What a channel gets of tenants that have used so many credits each. */
function viewOf(credits: readonly bigint[], changes: Changes | ((index: number) => Changes) = {}) {
  if (ROUTE === undefined) throw new Error('one route is expected');
  const members = credits.map((current, index) => {
    const about = {
      alert_id: `alert_${index}`,
      tenant_id: `tenant-${index}`,
      current: { credits: current, requests: 1n },
    };
    return {
      notification: buildNotification(
        jumpFacts({ ...about, ...(typeof changes === 'function' ? changes(index) : changes) }),
      ),
      bytes: 1_000,
    };
  });
  const about = {
    route: ROUTE,
    at: '2026-02-20T12:00:00.000Z',
    ofAll: { tenants: 40, likely: 0, reached: 0 },
    mostBytes: 180_000,
  };
  const [message] = groupMessages(members, about);
  const view = messageView(message?.payload ?? '');
  if (view === null) throw new Error('the payload has no view');
  return { view, id: message?.notificationId ?? '' };
}

test('a group shows its members, the largest first, with their ids, what they come to, and what to type about all of them', () => {
  const { view, id } = viewOf([180_000n, 400_000n, 160_000n]);
  expect(view.lines).toEqual([
    'tenant-1: 400,000 credits, 100,000 before (+300,000), alert_1',
    'tenant-0: 180,000 credits, 100,000 before (+80,000), alert_0',
    'tenant-2: 160,000 credits, 100,000 before (+60,000), alert_2',
  ]);
  expect(view.facts).toEqual([
    { label: 'Total of 3', value: '740,000 credits, 300,000 before (+440,000)' },
    { label: 'Message', value: id },
  ]);
  expect(view.next).toEqual([
    `usage-ledger alerts ack ${id} --note "..."`,
    `usage-ledger alerts silence --alert ${id} --until 2026-05-08 --reason "..."`,
    `usage-ledger alerts feedback ${id} real # expected, false`,
  ]);
  const { text, html } = emailText(view);
  expect(text).toContain('tenant-1: 400,000 credits, 100,000 before (+300,000), alert_1');
  expect(html).toMatch(/tenant-1.*alert_1.*400,000.*before 100,000.*\+300,000/);
});

test('a group of forecasts says what is foretold of each and of all; one of figures of two kinds has no total', () => {
  const projection = { credits: 160_000n, low_credits: 150_000n, high_credits: 170_000n, elapsed_fraction: 0.5 };
  const likely = { level: 'likely', evidence: { ...NO_EVIDENCE, projection } } as const;
  const { view } = viewOf([80_000n, 90_000n], likely);
  expect(view.lines).toEqual([
    'tenant-0: forecast 150,000 to 170,000, 100,000 before (+60,000), alert_0',
    'tenant-1: forecast 150,000 to 170,000, 100,000 before (+60,000), alert_1',
  ]);
  expect(view.facts[0]).toEqual({ label: 'Total of 2', value: 'forecast 320,000, 200,000 before (+120,000)' });
  expect(view.summary).toContain('forecast +120,000 credits together');
  expect(emailText(view).html).toMatch(/150,000 to 170,000.*forecast, before 100,000.*\+60,000/);
  const larger = { ...projection, credits: 190_000n, low_credits: 180_000n, high_credits: 200_000n };
  const further = (index: number): Changes =>
    index === 0 ? likely : { ...likely, evidence: { ...NO_EVIDENCE, projection: larger } };
  expect(viewOf([20_000n, 80_000n], further).view.lines[0]).toContain('tenant-1: forecast 180,000 to 200,000');
  const mixed = viewOf([400_000n, 90_000n], (index) => (index === 0 ? {} : likely)).view;
  expect(mixed.facts.map(({ label }) => label)).toEqual(['Message']);
  expect(mixed.summary).not.toContain('together');
});

test('a group about workspaces has no figures, and what has ended needs no acknowledgement', () => {
  const own = { rule: 'sync_stale', cause: null, tenant_id: null, period: null, previous_period: null } as const;
  const stale = viewOf([1n, 2n], { ...own, previous: null, current: null, threshold: null }).view;
  expect(stale.lines).toEqual(['ws-123, alert_0', 'ws-123, alert_1']);
  expect(stale.facts.map(({ label }) => label)).toEqual(['Message']);
  const ended = viewOf([1n, 2n], {
    type: 'alert.resolved',
    event: 'closed',
    state: 'resolved',
    closed_because: 'gone',
  });
  expect(ended.view.next).toEqual([`usage-ledger alerts feedback ${ended.id} real # expected, false`]);
});

test('the table of a group fits a phone and a window, however long the names are', async () => {
  const { view } = viewOf(
    Array.from({ length: 100 }, (_, index) => 9_007_199_254_740_993n + BigInt(index)),
    {
      tenant_name: '\u{1f980}Gesellschaft'.repeat(22),
    },
  );
  const file = join(temporaryFolder(), 'group.html');
  writeFileSync(file, emailText(view).html);
  const look = await startBrowser();
  for (const width of [375, 600]) {
    const page = await look(`file://${file}`, width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(await page.evaluate("document.querySelectorAll('tr').length")).toBe(102);
    // A figure is never broken.
    const widths = "[...document.querySelectorAll('td:nth-child(2)')].slice(2).map((cell) => cell.clientWidth)";
    expect(await page.evaluate(`Math.min(...${widths})`)).toBeGreaterThan(120);
    expect(page.complaints).toEqual([]);
  }
});
