import { parseMinor } from '../../core/money.ts';
import type { FileConfig, FileRuleSettings, FileSettings } from '../schema/file-schema.ts';
import type { AlertRuleSettings, AlertSettings } from '../types.ts';

export const DEFAULT_ALERT_RULES: AlertRuleSettings = {
  ratio: 1.5,
  minCredits: 1000,
  baseline: 'previous',
  paceMinFraction: 0.1,
};

/** Each level fills in what it says: `defaults`, the workspace, its tenants. The workspace's patterns come first. */
export function resolveAlerts(defaults: FileSettings['alerts'], own: FileSettings['alerts']): AlertSettings {
  const rules = applyRules(applyRules(DEFAULT_ALERT_RULES, defaults), own);
  const patterns = [...(own?.tenants ?? []), ...(defaults?.tenants ?? [])];
  return { ...rules, tenants: patterns.map((tenant) => ({ match: tenant.match, rules: applyRules(rules, tenant) })) };
}

/** Percent of a budget that are told of when it does not say. */
const BUDGET_STEPS = [50, 80, 100];

/** The budgets of a workspace: those that name it, and those that name none. */
export function budgetsOf(
  workspaceId: string,
  budgets: NonNullable<FileConfig['budgets']>,
): Pick<AlertSettings, 'budgets'> {
  const own = budgets.filter(({ workspace }) => workspace === undefined || workspace === workspaceId);
  if (own.length === 0) return {};
  return {
    budgets: own.map(({ tenant = null, credits, amount, currency, at = BUDGET_STEPS }) => {
      const amountMinor = amount === undefined || currency === undefined ? null : parseMinor(amount, currency);
      return {
        tenant,
        credits: credits === undefined ? null : BigInt(credits),
        at: [...at].sort((a, b) => a - b),
        ...(amountMinor === null || currency === undefined ? {} : { money: { amountMinor, currency } }),
      };
    }),
  };
}

function applyRules(base: AlertRuleSettings, own: FileRuleSettings | undefined): AlertRuleSettings {
  if (own === undefined) return base;
  return {
    ratio: own.ratio ?? base.ratio,
    minCredits: own.min_credits ?? base.minCredits,
    baseline: own.baseline ?? base.baseline,
    paceMinFraction: own.pace_min_fraction ?? base.paceMinFraction,
  };
}
