import { expect, test } from 'vitest';
import { findCandidates } from '../../../src/alerts/rules/context/candidates.ts';
import { usageRule } from '../../../src/alerts/rules/rules.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import { periodAt } from '../../../src/core/period.ts';
import { RULES } from '../../../src/core/text/alert-words.ts';
import type { MergedRun } from '../../../src/ledger/journal/runs/apply-run.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { DAY_MS, HOUR_MS } from '../evaluate-run/day-world.ts';
import { DAYS, FROM, judgingOf, play } from './candidate-play.ts';

test('few changed tenants and many are found alike', async () => {
  const settings = { ...DEFAULT_ALERT_RULES, tenants: [] };
  const world = await play(4, () => undefined);
  const { connection } = world;
  const nowMs = FROM + DAYS * DAY_MS + 12 * HOUR_MS;
  for (let tenant = 0; tenant < 20; tenant += 1) world.post(`t-${tenant}`, nowMs, 10);
  await world.read(nowMs);
  const period = periodKeyOf(1, periodAt(nowMs));
  const { runKey, last } = connection
    .prepare('SELECT run_key AS runKey, max(entry_id) AS last FROM usage_entries')
    .get() as { runKey: number; last: number };
  for (const periodKey of [period - 1, period]) {
    const find = (entries: number, all: boolean) => {
      const changed = new Map([[period, { after: last - entries, last }]]);
      const context = judgingOf({ connection, run: { runKey }, changed, nowMs } as unknown as MergedRun, settings);
      const look = { facts: context.factsOf(periodKey), all, isLate: false, settlesNow: false };
      const conditions = RULES.map((rule) => usageRule(rule)?.detection.candidates?.(context, look) ?? null);
      return findCandidates(
        context,
        look,
        conditions.filter((each) => each !== null),
      );
    };
    const entered = new Set(
      connection
        .prepare('SELECT tenant_key FROM usage_entries WHERE run_key = ? ORDER BY entry_id')
        .pluck()
        .all(runKey) as number[],
    );
    const all = find(0, true);
    const changed = all.filter(({ tenant }) => entered.has(tenant.tenantKey) && periodKey === period);
    const many = find(entered.size, false);
    expect(many).toEqual(changed);
    expect(all.length).toBeGreaterThan(changed.length);
    const few = new Set([...entered].slice(-5));
    const found = find(few.size, false);
    expect(found).toEqual(changed.filter(({ tenant }) => few.has(tenant.tenantKey)));
    expect(changed.length).toBeGreaterThan(periodKey === period ? 3 : -1);
  }
});
