import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findSummaryTimes, routeTakes, toRoutes } from '../../../src/alerts/pipeline/route.ts';
import { findUnroutedRules } from '../../../src/alerts/pipeline/unrouted-rules.ts';
import { RULES, SEVERITIES } from '../../../src/core/text/alert-words.ts';

const ROUTE = { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'digest' as const };

test('a channel without a route is sent everything at once', () => {
  const routes = toRoutes([{ type: 'log', name: 'log' }]);
  expect(routes).toEqual([{ channel: 'log', timezone: 'UTC', ...ROUTE }]);
  expect(findUnroutedRules(routes, 'ws-1')).toEqual([]);
});

test('a channel takes an alert that matches its severities and its rules', () => {
  const [route] = toRoutes([
    { type: 'log', name: 'log', route: { ...ROUTE, severities: ['critical'], rules: ['jump', 'drop'] } },
  ]);
  if (route === undefined) throw new Error('one route is expected');
  expect(routeTakes(route, { rule: 'jump', severity: 'critical', workspaceId: 'ws-1', tenantId: 'acme' })).toBe(true);
  expect(routeTakes(route, { rule: 'jump', severity: 'warning', workspaceId: 'ws-1', tenantId: 'acme' })).toBe(false);
  expect(routeTakes(route, { rule: 'budget', severity: 'critical', workspaceId: 'ws-1', tenantId: 'acme' })).toBe(
    false,
  );
});

test('a channel for some workspaces or tenants takes their alerts, and those about the whole ledger', () => {
  const [europe, trials] = toRoutes([
    { type: 'log', name: 'europe', route: { ...ROUTE, workspaces: ['eu-*'] } },
    { type: 'log', name: 'trials', route: { ...ROUTE, tenants: ['trial-*', 'acme'] } },
  ]);
  if (europe === undefined || trials === undefined) throw new Error('two routes are expected');
  const jump = { rule: 'jump' as const, severity: 'critical' as const };
  const stale = { rule: 'sync_stale' as const, severity: 'critical' as const, tenantId: null };
  expect(routeTakes(europe, { ...jump, workspaceId: 'eu-1', tenantId: 'acme' })).toBe(true);
  expect(routeTakes(europe, { ...jump, workspaceId: 'us-1', tenantId: 'acme' })).toBe(false);
  expect(routeTakes(europe, { ...stale, workspaceId: 'us-1' })).toBe(false);
  expect(routeTakes(europe, { ...stale, rule: 'job_failed', workspaceId: null })).toBe(true);
  expect(routeTakes(trials, { ...jump, workspaceId: 'us-1', tenantId: 'trial-7' })).toBe(true);
  expect(routeTakes(trials, { ...jump, workspaceId: 'us-1', tenantId: 'globex' })).toBe(false);
  expect(routeTakes(trials, { ...stale, workspaceId: 'us-1' })).toBe(false);
  expect(findUnroutedRules([europe], 'eu-1')).toEqual([]);
  expect(findUnroutedRules([europe], 'us-1')).not.toEqual([]);
  expect(findUnroutedRules([trials], 'us-1')).toEqual(findUnroutedRules([], 'us-1'));
});

test('a channel does not take what it excludes, but always alerts about the whole ledger', () => {
  const not = { rules: ['drop' as const], workspaces: ['test-*'], tenants: ['acme', 'trial-*'] };
  const [route] = toRoutes([{ type: 'log', name: 'log', route: { ...ROUTE, not } }]);
  if (route === undefined) throw new Error('one route is expected');
  const jump = { rule: 'jump' as const, severity: 'critical' as const, workspaceId: 'ws-1', tenantId: 'globex' };
  expect(routeTakes(route, jump)).toBe(true);
  expect(routeTakes(route, { ...jump, tenantId: 'acme' })).toBe(false);
  expect(routeTakes(route, { ...jump, tenantId: 'trial-7' })).toBe(false);
  expect(routeTakes(route, { ...jump, workspaceId: 'test-1' })).toBe(false);
  expect(routeTakes(route, { ...jump, rule: 'drop' })).toBe(false);
  expect(routeTakes(route, { ...jump, rule: 'workspace_jump', tenantId: null })).toBe(true);
  expect(routeTakes(route, { ...jump, rule: 'job_failed', workspaceId: null, tenantId: null })).toBe(true);
  expect(findUnroutedRules([route], 'ws-1').map(({ rules }) => rules)).toEqual([['drop']]);
  expect(findUnroutedRules([route], 'test-1')).toEqual(findUnroutedRules([], 'test-1'));
});

test('rules that no channel takes are listed with the severities that they can have', () => {
  expect(findUnroutedRules([], 'ws-1')).toEqual([
    {
      severity: 'warning',
      rules: [
        'jump',
        'drop',
        'new_spend',
        'budget',
        'margin',
        'regression',
        'restatement',
        'withdrawn',
        'workspace_jump',
        'job_failed',
      ],
    },
    {
      severity: 'critical',
      rules: [
        ...['jump', 'new_spend', 'budget', 'workspace_jump', 'standstill'],
        ...['sync_stale', 'sync_failed', 'job_failed'],
      ],
    },
  ]);
  const routes = toRoutes([
    { type: 'log', name: 'a', route: { ...ROUTE, severities: ['critical'] } },
    { type: 'log', name: 'b', route: { ...ROUTE, rules: ['jump', 'drop', 'workspace_jump', 'withdrawn'] } },
  ]);
  expect(findUnroutedRules(routes, 'ws-1')).toEqual([
    {
      severity: 'warning',
      rules: ['new_spend', 'budget', 'margin', 'regression', 'restatement', 'job_failed'],
    },
  ]);
});

test.each([
  ['2026-03-20T06:59:59.999Z', '2026-03-20T07:00:00.000Z'],
  ['2026-03-20T07:00:00.000Z', '2026-03-21T07:00:00.000Z'],
  ['2026-12-31T23:00:00.000Z', '2027-01-01T07:00:00.000Z'],
])('at %s the daily summary of seven o’clock is due at %s', (now, due) => {
  expect(new Date(findSummaryTimes({ digestHour: 7, timezone: 'UTC' }, Date.parse(now)).nextMs).toISOString()).toBe(
    due,
  );
});

test('the next digest is the first full hour of that number after any moment', () => {
  const times = fc.integer({ min: 0, max: 4_102_444_800_000 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 23 }), times, (hour, nowMs) => {
      const { latestMs, nextMs: due } = findSummaryTimes({ digestHour: hour, timezone: 'UTC' }, nowMs);
      expect(latestMs).toBe(due - 86_400_000);
      expect(due - nowMs).toBeGreaterThan(0);
      expect(due - nowMs).toBeLessThanOrEqual(86_400_000);
      expect(new Date(due).toISOString().slice(11)).toBe(`${String(hour).padStart(2, '0')}:00:00.000Z`);
    }),
  );
});
