import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { groupMessages } from '../../../src/alerts/messages/group.ts';
import { buildNotification } from '../../../src/alerts/messages/notification.ts';
import { toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { startBrowser } from '../../support/browser.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

type Changes = Parameters<typeof jumpFacts>[0];

const [ROUTE] = toRoutes([{ type: 'log', name: 'mail' }]);

/** What a channel gets of tenants that have used so many credits each. */
function asMapping(credits: readonly bigint[], changes: Changes | ((index: number) => Changes) = {}) {
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
  const [made] = groupMessages(members, about);
  const message = readMessage(made?.payload ?? '');
  if (message === null) throw new Error('the payload cannot be read');
  return { message, id: made?.notificationId ?? '' };
}

test('a group lists its largest members with their figures, and acknowledges all of them', () => {
  const { message, id } = asMapping([180_000n, 400_000n, 160_000n]);
  expect(message).toMatchObject({
    title: '3 of 40 tenants of ws-123 are over their February limit, +440,000 credits together',
    lines: [],
    items: [
      'tenant-1 400,000 (January 100,000)',
      'tenant-0 180,000 (January 100,000)',
      'tenant-2 160,000 (January 100,000)',
    ],
    ...{ kind: 'critical', event: null, facts: [], command: `usage-ledger alerts ack ${id}` },
  });
  const { text, html } = createEmailText(message);
  expect(text).toContain('\n\ntenant-1 400,000 (January 100,000)\ntenant-0 180,000');
  expect(html).toContain('<li><bdi>tenant-1 400,000 (January 100,000)</bdi></li>');
});

test('a group of more than ten members counts the others', () => {
  const { message } = asMapping(Array.from({ length: 12 }, (_, index) => 200_000n + BigInt(index)));
  expect(message.items).toHaveLength(11);
  expect(message.items.at(-1)).toBe('and 2 more: see `usage-ledger alerts list --all`');
});

test('a group of forecasts has the range of each and the sum of all; one of figures of two kinds has no sum', () => {
  const projection = { credits: 160_000n, low_credits: 150_000n, high_credits: 170_000n, elapsed_fraction: 0.5 };
  const likely = { level: 'likely', evidence: { ...NO_EVIDENCE, projection } } as const;
  const { message } = asMapping([80_000n, 90_000n], likely);
  expect(message.items).toEqual([
    'tenant-0 forecast 150,000 to 170,000 (January 100,000)',
    'tenant-1 forecast 150,000 to 170,000 (January 100,000)',
  ]);
  expect(message.title).toContain('forecast +120,000 credits together');
  const larger = { ...projection, credits: 190_000n, low_credits: 180_000n, high_credits: 200_000n };
  const further = (index: number): Changes =>
    index === 0 ? likely : { ...likely, evidence: { ...NO_EVIDENCE, projection: larger } };
  expect(asMapping([20_000n, 80_000n], further).message.items[0]).toContain('tenant-1 forecast 180,000 to 200,000');
  const mixed = asMapping([400_000n, 90_000n], (index) => (index === 0 ? {} : likely)).message;
  expect(mixed.title).not.toContain('together');
});

test('a group about workspaces has no figures, and one that has ended needs no acknowledgement', () => {
  const own = { rule: 'sync_stale', cause: null, tenant_id: null, period: null, previous_period: null } as const;
  const stale = asMapping([1n, 2n], { ...own, previous: null, current: null, threshold: null }).message;
  expect(stale.items).toEqual(['ws-123', 'ws-123']);
  const ended = asMapping([1n, 2n], {
    type: 'alert.resolved',
    event: 'closed',
    state: 'resolved',
    closed_because: 'gone',
  }).message;
  expect(ended).toMatchObject({ kind: 'closed', command: 'usage-ledger alerts list --all' });
  expect(ended.links.acknowledge).toBeNull();
});

test('the mail about a group fits a phone and a window, however long the names are', async () => {
  const { message } = asMapping(
    Array.from({ length: 100 }, (_, index) => 9_007_199_254_740_993n + BigInt(index)),
    { tenant_name: '\u{1f980}Gesellschaft'.repeat(22) },
  );
  const file = join(temporaryFolder(), 'group.html');
  writeFileSync(file, createEmailText(message).html);
  const look = await startBrowser();
  for (const width of [375, 600]) {
    const page = await look(`file://${file}`, width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(await page.evaluate("document.querySelectorAll('li').length")).toBe(11);
    expect(page.complaints).toEqual([]);
  }
});
