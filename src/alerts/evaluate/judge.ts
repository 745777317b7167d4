import type Database from 'better-sqlite3';
import { judgeDrop } from '../rules/drop.ts';
import { judgeJump } from '../rules/jump.ts';
import { judgeNewSpend } from '../rules/new-spend.ts';
import { judgeRegression } from '../rules/regression.ts';
import { judgeRestatement } from '../rules/restatement.ts';
import { clear, type Stage, type UsageFigures } from '../rules/rule.ts';
import { buildThreshold, floorCredits, type History } from '../rules/threshold.ts';
import { judgeWithdrawn } from '../rules/withdrawn.ts';
import type { TenantFacts } from './candidates.ts';
import { type Observation, observation } from './observation.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { TenantSettings } from './tenant-settings.ts';

const NOTHING: UsageFigures = { credits: 0n, requests: 0n };

/** With fewer tenants their own alerts say all that the total could. */
const FEW_TENANTS = 5;

interface Total {
  figures: UsageFigures | null;
  tenants: number;
}

export interface JudgeSources {
  connection: Database.Database;
  workspaceKey: number;
  settings: TenantSettings;
  factsOf: (periodKey: number) => PeriodFacts;
  tenantId: (tenantKey: number) => string;
}

/** The pure rules with what they need from the ledger. `firing` is the stage of the alert that fires already. */
export interface Judge {
  jump(tenant: TenantFacts, firing: Stage | null): Observation;
  drop(tenant: TenantFacts): Observation;
  newSpend(tenant: TenantFacts): Observation;
  regression(tenant: TenantFacts, peak: UsageFigures, firing: boolean): Observation;
  restatement(tenant: TenantFacts): Observation;
  withdrawn(tenant: TenantFacts, before: UsageFigures): Observation;
  workspaceJump(periodKey: number, firing: Stage | null): Observation;
}

export function createJudge({ connection, workspaceKey, settings, factsOf, tenantId }: JudgeSources): Judge {
  const earlier = connection
    .prepare(
      `SELECT 1 FROM periods p JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = ?
       WHERE p.workspace_key = ? AND p.period_key < ? LIMIT 1`,
    )
    .pluck();
  const creditsOf = connection
    .prepare('SELECT credits_used FROM tenant_usage WHERE period_key = ? AND tenant_key = ?')
    .safeIntegers()
    .pluck();
  const closedOf = connection
    .prepare(
      `SELECT c.credits_used, c.request_count FROM periods p
       LEFT JOIN closed_usage c ON c.period_key = p.period_key AND c.tenant_key = ?
       WHERE p.period_key = ? AND p.closed_seq IS NOT NULL`,
    )
    .safeIntegers()
    .raw();
  const totalOf = connection
    .prepare(
      'SELECT sum(credits_used), sum(request_count), count(*) FROM tenant_usage WHERE period_key = ? AND withdrawn = 0',
    )
    .safeIntegers()
    .raw();
  const totals = new Map<number, Total>();
  const total = (periodKey: number): Total => {
    const known = totals.get(periodKey);
    if (known !== undefined) return known;
    const [credits, requests, tenants] = totalOf.get(periodKey) as [bigint | null, bigint | null, bigint];
    const figures = credits === null || requests === null ? null : { credits, requests };
    const found = { figures, tenants: Number(tenants) };
    totals.set(periodKey, found);
    return found;
  };
  // A tenant's first period began at some day of the month, so a normal month after it looks like a jump.
  const hadEarlier = (tenant: TenantFacts): boolean =>
    earlier.get(tenant.tenantKey, workspaceKey, tenant.periodKey - 1) !== undefined;

  const tenantHistory =
    (tenant: TenantFacts): History =>
    (before) =>
      before === 1
        ? (tenant.previous?.credits ?? null)
        : ((creditsOf.get(tenant.periodKey - before, tenant.tenantKey) as bigint | undefined) ?? null);

  const subject = (rule: Observation['rule'], { periodKey, tenantKey, current, previous }: TenantFacts) => {
    const { phase } = factsOf(periodKey);
    return { rule, periodKey, tenantKey, phase, current: current ?? NOTHING, previous };
  };

  return {
    jump(tenant, firing) {
      const facts = factsOf(tenant.periodKey);
      const own = settings.of(tenantId(tenant.tenantKey));
      const current = tenant.current ?? NOTHING;
      const built = buildThreshold(facts.period, tenantHistory(tenant), own);
      const judge = (usable: boolean) =>
        judgeJump({
          current: current.credits,
          previous: { figures: tenant.previous, usable },
          threshold: built === null ? null : { credits: built.credits, baseline: built.baseline },
          phase: facts.phase,
          firing,
          paceMinFraction: own.paceMinFraction,
        });
      const hopeful = judge(facts.previousComplete);
      // Looking for earlier periods is what costs, and most of whom the rule does not hold for need no look.
      const judgement = hopeful.verdict === 'holds' && !hadEarlier(tenant) ? judge(false) : hopeful;
      return observation({ ...subject('jump', tenant), judgement, built, threshold: built?.credits ?? null });
    },
    drop(tenant) {
      const facts = factsOf(tenant.periodKey);
      const own = settings.of(tenantId(tenant.tenantKey));
      const built = buildThreshold(facts.period, tenantHistory(tenant), own);
      const judgement = judgeDrop({
        current: (tenant.current ?? NOTHING).credits,
        previous: {
          figures: tenant.previous,
          usable: !tenant.withdrawn && facts.previousComplete && hadEarlier(tenant),
        },
        baseline: built?.baseline ?? null,
        phase: facts.phase,
        thresholds: own,
      });
      const threshold = judgement.verdict === 'holds' ? judgement.finding.threshold : null;
      return observation({ ...subject('drop', tenant), judgement, built, threshold });
    },
    newSpend(tenant) {
      const facts = factsOf(tenant.periodKey);
      const floor = floorCredits(settings.of(tenantId(tenant.tenantKey)));
      const judgement = judgeNewSpend({
        current: (tenant.current ?? NOTHING).credits,
        previous: { figures: tenant.previous, usable: facts.previousComplete && !facts.previousIsFirst },
        floor,
      });
      return observation({ ...subject('new_spend', tenant), judgement, threshold: floor });
    },
    regression(tenant, peak, firing) {
      const current = (tenant.current ?? NOTHING).credits;
      const judgement = judgeRegression({ peak: peak.credits, current, firing });
      return observation({ ...subject('regression', tenant), judgement, previous: peak, threshold: peak.credits });
    },
    restatement(tenant) {
      const row = closedOf.get(tenant.tenantKey, tenant.periodKey) as [bigint | null, bigint | null] | undefined;
      const closed = row === undefined ? null : { credits: row[0] ?? 0n, requests: row[1] ?? 0n };
      const judgement = judgeRestatement({ closed, current: tenant.current ?? NOTHING });
      return observation({ ...subject('restatement', tenant), judgement, previous: closed });
    },
    withdrawn(tenant, before) {
      const judgement = judgeWithdrawn(tenant.withdrawn, before.credits);
      return observation({ ...subject('withdrawn', tenant), judgement, previous: before });
    },
    workspaceJump(periodKey, firing) {
      const facts = factsOf(periodKey);
      const { figures, tenants } = total(periodKey);
      const current = figures ?? NOTHING;
      const previous = total(periodKey - 1).figures;
      const history: History = (before) => total(periodKey - before).figures?.credits ?? null;
      const built = buildThreshold(facts.period, history, settings.workspace);
      const judged = judgeJump({
        current: current.credits,
        previous: { figures: previous, usable: facts.previousComplete && !facts.previousIsFirst },
        threshold: built === null ? null : { credits: built.credits, baseline: built.baseline },
        phase: facts.phase,
        firing,
        paceMinFraction: settings.workspace.paceMinFraction,
      });
      const judgement = tenants < FEW_TENANTS ? clear(true) : judged;
      const seen = { rule: 'workspace_jump' as const, periodKey, tenantKey: null, judgement, current, previous, built };
      return observation({ ...seen, phase: facts.phase, threshold: built?.credits ?? null });
    },
  };
}
