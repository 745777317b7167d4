import { periodEndMs, periodStartMs } from '../../core/period.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Evidence } from '../evaluate/evidence.ts';
import type { ChangeReason } from '../rules/measures/change-reason.ts';
import type { Level, RuleName } from '../rules/rule.ts';
import { isLedgerRule, type LedgerRule } from '../rules/table.ts';
import { percentOf } from './percent.ts';

export type ClosedBecause = 'gone' | 'left_window' | 'unrouted';

/** The part of a notification that its sentence is made of. */
interface Facts {
  rule: RuleName;
  type: string;
  event?: ToldEvent;
  closed_because?: ClosedBecause | null;
  level: Level;
  told_times: number;
  workspace_id: string;
  tenant_id: string | null;
  tenant_name?: string | null;
  period: string | null;
  previous_period: string | null;
  credits: { previous: bigint; current: bigint; change_percent: number | null } | null;
  threshold: bigint | null;
  reason: ChangeReason | null;
  evidence: Evidence;
}

/** One sentence for people: who, how much, against what, and what drove it. Safe for a terminal whatever the names. */
export function summaryLine(facts: Facts): string {
  const line = sentenceOf(facts);
  return facts.event === 'reminder' ? `Nobody has acknowledged this yet. ${line}` : line;
}

function sentenceOf(facts: Facts): string {
  if (facts.closed_because === 'left_window') {
    return `${TITLES[facts.rule]} ended: ${subjectOf(facts)}; ${facts.period} is no longer looked at.`;
  }
  if (facts.closed_because === 'unrouted') {
    return `${TITLES[facts.rule]} is no longer told here: ${subjectOf(facts)}; it goes on.`;
  }
  if (facts.rule === 'incident') return incidentLine(facts);
  if (facts.credits === null) return facts.rule === 'budget' ? endOfBudget(facts) : selfLine(facts);
  const { credits } = facts;
  const used = grouped(credits.current);
  const before = `${grouped(credits.previous)} ${comparedWith(facts)}`;
  const limit = grouped(facts.threshold ?? 0n);
  if (facts.type === 'alert.resolved') return resolvedLine(facts, used, before);
  const head = `${title(facts)}: ${subjectOf(facts)}`;
  switch (facts.rule) {
    case 'drop':
      if (facts.level === 'likely') {
        return `${head} has used nothing ${facts.evidence.detail ?? 'for days'}: ${used} in ${facts.period}, ${before}.`;
      }
      return `${head} used ${used} credits in ${facts.period}, ${direction(credits.change_percent)} ${before}.`;
    case 'new_spend':
      return `${head} ${facts.evidence.projection === null ? 'used' : 'has so far used'} ${used} credits in ${facts.period} and none in ${facts.previous_period} (floor ${limit}${plannedWords(facts)}).`;
    case 'trend':
      return `${head} used ${used} credits in ${facts.period}, ${direction(credits.change_percent)} ${before}, month by month and without a jump.`;
    case 'budget':
      return `${head} ${budgetWords(facts, credits.current, limit)}`;
    case 'regression':
      return `${head} fell from ${grouped(credits.previous)} to ${used} credits in ${facts.period}, which is still open.`;
    case 'restatement':
      return facts.level === 'settled'
        ? `${head} now has ${used} credits in ${facts.period}, which was closed with ${grouped(credits.previous)}.`
        : `${head} now has ${used} credits in ${facts.period}, which had settled at ${grouped(credits.previous)} and is not closed.`;
    case 'withdrawn':
      return `${head} is no longer listed in ${facts.period}; it had ${grouped(credits.previous)} credits.`;
    default:
      return `${head} ${jumpWords(facts, used, before, limit)}`;
  }
}

/** Which months the figure of before is of. */
function comparedWith({ previous_period, evidence }: Facts): string {
  const months = evidence.threshold?.baseline_periods ?? [];
  return months.length > 1 ? `being the median of ${[...months].reverse().join(', ')}` : `in ${previous_period}`;
}

function jumpWords(facts: Facts, used: string, before: string, limit: string): string {
  const basis = facts.evidence.detail === null ? '' : `; ${facts.evidence.detail}`;
  const driver = `${facts.reason === null ? '' : `; ${DRIVERS[facts.reason]}`}${basis}${plannedWords(facts)}`;
  const change = direction(facts.credits?.change_percent ?? null);
  if (facts.level === 'likely') {
    const projected = grouped(facts.evidence.projection?.credits ?? facts.credits?.current ?? 0n);
    return `heads for ${projected} credits in ${facts.period}, after ${before} (${used} used, threshold ${limit}${driver}).`;
  }
  const verb = facts.level === 'settled' ? 'used' : 'has so far used';
  return `${verb} ${used} credits in ${facts.period}, ${change} ${before} (threshold ${limit}${driver}).`;
}

/** Somebody had planned for growth, and it has grown beyond that. */
function plannedWords({ evidence }: Facts): string {
  const { planned_credits = null, planned_bounds = planned_credits === null ? [] : [planned_credits] } = evidence;
  return planned_bounds.length === 0 ? '' : `; planned up to ${planned_bounds.map(grouped).join(' and ')}`;
}

function budgetWords(facts: Facts, current: bigint, limit: string): string {
  const { evidence, threshold, period } = facts;
  const budget = threshold ?? 0n;
  const head = `has used ${grouped(current)} credits in ${period}, ${grouped(percentOf(current, budget) ?? 0)}% of its budget of ${limit}`;
  const { projection } = evidence;
  if (projection === null || period === null || current >= budget || projection.credits < budget) return `${head}.`;
  const left = Number(budget - current) / Number(projection.credits - current);
  const elapsed = projection.elapsed_fraction;
  const days = (periodEndMs(period) - periodStartMs(period)) / 86_400_000;
  const day = Math.min(days, Math.floor((elapsed + (1 - elapsed) * left) * days) + 1);
  return `${head}, and heads for ${grouped(projection.credits)}: used up on about ${period}-${String(day).padStart(2, '0')}.`;
}

function resolvedLine(facts: Facts, used: string, before: string): string {
  const who = `${TITLES[facts.rule]} resolved: ${subjectOf(facts)}`;
  const head = `${who} is at ${used} credits in ${facts.period}`;
  switch (facts.rule) {
    case 'jump':
    case 'workspace_jump':
      return `${who} ${endOfJump(facts, used)} (${before}).`;
    case 'drop':
      return `${head}, no longer far below ${before}.`;
    case 'new_spend':
      return `${head}, below the floor of ${grouped(facts.threshold ?? 0n)}, or had credits in ${facts.previous_period} after all.`;
    case 'trend':
      return `${head}, which is no growth of three months any more (${before}).`;
    case 'budget': {
      const budget = grouped(facts.threshold ?? 0n);
      return `${head}, and neither has used nor heads for anything that is told of its budget of ${budget}.`;
    }
    case 'regression':
      return `${head}, and the credits that were missing are back.`;
    case 'restatement':
      return `${head}, as it was stated before.`;
    case 'withdrawn':
      return `${head} and listed again.`;
    default:
      return `${head} (${before}).`;
  }
}

/** A budget that was taken out of the configuration leaves no figures to compare. */
function endOfBudget(facts: Facts): string {
  return `${TITLES.budget} resolved: ${subjectOf(facts)} has no budget any more.`;
}

/** Why a jump is none any more. */
function endOfJump({ level, period, threshold, credits, evidence }: Facts, used: string): string {
  if (threshold === null) return `is at ${used} credits in ${period}, and there is nothing left to compare with`;
  const limit = `the threshold of ${grouped(threshold)}`;
  const current = credits?.current ?? 0n;
  if (evidence.projection === null) {
    return current < threshold
      ? `ended ${period} with ${used} credits, below ${limit}`
      : `ended ${period} with ${used} credits, which is no jump any more against ${limit}`;
  }
  if (level !== 'likely' && current < threshold) return `was corrected to ${used} credits in ${period}, below ${limit}`;
  const projected = `heads for ${grouped(evidence.projection.credits)} credits in ${period} now`;
  if (evidence.projection.credits < threshold) return `${projected}, below ${limit}`;
  return `${projected}, but is no longer ahead of what it used before`;
}

function incidentLine(facts: Facts): string {
  const { tenants, tenant_count } = facts.evidence;
  const where = `workspace ${quoted(facts.workspace_id)} in ${facts.period}`;
  if (facts.type === 'alert.resolved') return `Incident resolved: none of its alerts is open in ${where}.`;
  const names = (tenants ?? []).slice(0, 5).map(quoted).join(', ');
  const more = (tenant_count ?? 0) > 5 ? ` and ${(tenant_count ?? 0) - 5} more` : '';
  return `Incident, ${facts.level}: ${tenant_count ?? 0} tenants at once in ${where}: ${names}${more}.`;
}

function selfLine(facts: Facts): string {
  const where = `workspace ${quoted(facts.workspace_id)}`;
  if (facts.type === 'alert.resolved') {
    if (isLedgerRule(facts.rule)) return `${TITLES[facts.rule]} resolved: ${LEDGER_ENDS[facts.rule]}.`;
    const now = facts.rule === 'job_failed' ? 'all rules have looked at' : 'a complete run has read';
    return `${TITLES[facts.rule]} resolved: ${now} ${where} again.`;
  }
  if (isLedgerRule(facts.rule)) return `${TITLES[facts.rule]}: ${inertText(facts.evidence.detail ?? '')}`;
  const detail = facts.evidence.detail === null ? '' : `: ${inertText(facts.evidence.detail)}`;
  return `${TITLES[facts.rule]}: ${where}${detail}`;
}

/** What is right again; these are about no workspace. */
const LEDGER_ENDS: Record<LedgerRule, string> = {
  publish_stale: 'the replica has what the ledger has',
  export_failed: 'all files are written again',
  clock_moved: 'no time in the ledger is to come any more',
};

/** What each rule is called in a sentence. */
const TITLES: Record<RuleName, string> = {
  jump: 'Jump',
  drop: 'Drop',
  new_spend: 'New spend',
  trend: 'Trend',
  budget: 'Budget',
  regression: 'Regression',
  restatement: 'Restatement',
  withdrawn: 'Withdrawn',
  workspace_jump: 'Workspace jump',
  incident: 'Incident',
  sync_stale: 'No complete run',
  sync_failed: 'Sync failed',
  auth_failed: 'Credentials refused',
  clock_skew: 'Clock is off',
  publish_stale: 'Replica is late',
  export_failed: 'Exports fail',
  clock_moved: 'Clock was set back',
  job_failed: 'Alert rules fail',
};

export function titleOf(rule: RuleName): string {
  return TITLES[rule];
}

const DRIVERS: Record<ChangeReason, string> = {
  volume: 'more requests',
  intensity: 'more credits per request',
  mixed: 'more requests and more credits per request',
};

function title(facts: Facts): string {
  const name = TITLES[facts.rule];
  const staged = facts.rule === 'jump' || facts.rule === 'workspace_jump';
  if (facts.type === 'alert.escalated')
    return facts.told_times > 0 ? `${name} has grown` : `${name} is now ${facts.level}`;
  return staged ? `${name}, ${facts.level}` : name;
}

function subjectOf(facts: Facts): string {
  const workspace = `workspace ${quoted(facts.workspace_id)}`;
  if (facts.tenant_id === null) return workspace;
  const name = facts.tenant_name ?? null;
  return `tenant ${quoted(facts.tenant_id)}${name === null ? '' : ` (${shortened(name)})`} in ${workspace}`;
}

/** Longer names are cut in the sentence; the payload's own fields carry them in full. */
const NAME_CHARACTERS = 80;

function quoted(name: string): string {
  return `"${shortened(name).replaceAll('"', '\\"')}"`;
}

function shortened(name: string): string {
  const characters = Array.from(name);
  const shown = characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS).join('')}…` : name;
  return inertText(shown);
}

function grouped(value: bigint | number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

function direction(percent: number | null): string {
  if (percent === null) return 'from';
  return percent < 0 ? `down ${grouped(-percent)}% from` : `up ${grouped(percent)}% from`;
}
