import { periodEndMs } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import { FREE_FAMILY, type SharedCause } from '../field/shared-causes.ts';
import type { World } from '../world.ts';
import type { SentAlert, SentMessage } from './sent.ts';
import { type Rise, TENANT_KINDS, type TenantKind, type Truth } from './truth.ts';

export interface Share {
  hits: number;
  of: number;
}

/** Ranges against the month's end: it was inside, below the range (too high a forecast), or above it. */
export interface RangeCounts {
  held: number;
  below: number;
  above: number;
}

export type RangeKey = `${'likely' | 'happened'} ${TenantKind}`;

/** What one method has sent in one year, as counts that can be added up. */
export interface Scorecard {
  /** Jumps that had a message, all; those that must have one (see `mustNotify`), and intermittent tenants' usual ones. */
  jumps: Share;
  requiredJumps: Share;
  jumpsWithinHabit: Share;
  /** New spend of a half percent of the workspace's previous month, or more. */
  materialNewSpend: Share;
  /** Jumps whose first message came before a run read the limit, of those with a message; and days between. */
  before: Share;
  requiredBefore: Share;
  leadDays: number[];
  /** Tenants' months first sent as `likely` that passed their limit in the end, bursts counted; by kind of tenant. */
  likely: Share;
  likelyByKind: Partial<Record<TenantKind, Share>>;
  ranges: Partial<Record<RangeKey, RangeCounts>>;
  /** Workspace jumps sent, and those that were true. */
  workspaceJumps: Share;
  /** Months in which the workspace jumped and no message said so. */
  unsentWorkspaceJumps: number;
  /** Tenants whose own jump was sent though the workspace rose as much, of those tenants. */
  commonSent: Share;
  /** Tenants first notified during a shared cause or the week after, and those whose month passed its limit. */
  duringCauses: Share;
  /** Critical messages about an increase below a half percent of the workspace's previous month. */
  immaterialCritical: Share;
  /** Material rises that must be sent and were not sent as critical. */
  notCritical: Share;
  messages: number;
  /** Messages that name a tenant on a free plan. */
  freeMessages: number;
  /** Days times hundreds of tenants, without those on a free plan. */
  tenantDays: number;
  /** Messages that name one tenant, the most in the judged time: any, and intermittent ones. */
  mostMessages: Named;
  mostIntermittent: Named;
  /** Null for methods that keep no list. */
  openAlerts: number | null;
  /** What went wrong, one line each. */
  faults: string[];
}

export interface Named {
  tenant: string;
  messages: number;
}

/** Events that say that an alert holds. */
const HOLDS = new Set(['opened', 'again', 'worse', 'eased', 'grown']);

export interface Judged {
  world: World;
  truth: Truth;
  causes: readonly SharedCause[];
  messages: readonly SentMessage[];
  openAlerts: number | null;
  hasSeverity: boolean;
}

/** A jump or new spend that nobody may miss: material, the tenant's own, and beyond the habits that the tenant may have. */
export function mustNotify({ isMaterial, isCommon, isByHabit, isBeyondHabit }: Rise): boolean {
  return isMaterial && !isCommon && (!isByHabit || isBeyondHabit);
}

/** Holds what a receiver got against what was true in the end. */
export function scoreMessages({ world, truth, causes, messages, openAlerts, hasSeverity }: Judged): Scorecard {
  const [firstMonth, lastMonth] = [truth.months[0], truth.months.at(-1)];
  if (firstMonth === undefined || lastMonth === undefined) throw new Error('the world has no month that can be judged');
  const { startMs } = world.calendar;
  const fromMs = startMs + firstMonth.firstDay * DAY_MS;
  const toMs = startMs + (lastMonth.firstDay + lastMonth.length) * DAY_MS;
  const judged = messages.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const sent = messages.flatMap(({ atMs, alerts }) => alerts.map((alert) => ({ ...alert, atMs })));
  const holding = sent.filter(({ event, period }) => HOLDS.has(event) && truth.isJudged(period));
  const bySubject = Map.groupBy(holding, subjectOf);
  const card = emptyScorecard();
  card.openAlerts = openAlerts;
  card.messages = judged.length;
  const free = new Set(world.tenants.filter(({ family }) => family === FREE_FAMILY).map(({ id }) => id));
  card.tenantDays = ((toMs - fromMs) / DAY_MS) * ((world.tenants.length - free.size) / 100);
  card.freeMessages = judged.filter(({ alerts }) => alerts.some(({ tenant }) => free.has(tenant ?? ''))).length;

  for (const rise of truth.rises) scoreRise(card, rise, bySubject.get(subjectOf(rise)) ?? [], { world, hasSeverity });
  for (const alerts of bySubject.values()) scoreForecast(card, alerts, { truth, causes, startMs });
  for (const alert of holding) {
    scoreRange(card, alert, truth);
    if (alert.severity === 'critical') scoreSeverity(card, alert, truth);
  }
  card.unsentWorkspaceJumps = truth.months.filter(
    ({ period }) =>
      truth.isWorkspaceJump(period) && !bySubject.has(subjectOf({ rule: 'workspace_jump', tenant: null, period })),
  ).length;
  const named = countNamed(judged);
  card.mostMessages = most(named);
  card.mostIntermittent = most(named.filter(({ tenant }) => truth.isIntermittent(tenant)));
  return card;
}

type Sent = SentAlert & { atMs: number };

function scoreRise(
  card: Scorecard,
  rise: Rise,
  alerts: readonly Sent[],
  { world, hasSeverity }: { world: World; hasSeverity: boolean },
): void {
  const { tenant, period, rule, kind, before, final, reachedMs, isCommon } = rise;
  // A known tenant under a new id is no new spend.
  if (rule === 'new_spend' && isRenamed(world, tenant)) return;
  const first = alerts[0];
  const isRequired = mustNotify(rise);
  const figures = `${kind} ${tenant} ${period}: ${Math.round(before)} -> ${Math.round(final)}`;
  if (rule === 'new_spend') {
    if (isRequired) count(card.materialNewSpend, first !== undefined);
  } else if (isCommon) {
    count(card.commonSent, first !== undefined);
    return;
  } else {
    count(card.jumps, first !== undefined);
    if (isRequired) count(card.requiredJumps, first !== undefined);
    if (rise.isByHabit && !rise.isBeyondHabit) count(card.jumpsWithinHabit, first !== undefined);
  }
  if (isRequired && first === undefined) card.faults.push(`not sent: ${rule} ${figures}`);
  if (rule === 'jump' && first !== undefined) {
    const happenedMs = reachedMs ?? periodEndMs(period);
    const isBefore = first.atMs < happenedMs;
    count(card.before, isBefore);
    if (isRequired) count(card.requiredBefore, isBefore);
    if (isBefore) card.leadDays.push((happenedMs - first.atMs) / DAY_MS);
  }
  if (!hasSeverity || !isRequired || reachedMs === null) return;
  const isLost = !alerts.some(({ severity }) => severity === 'critical');
  count(card.notCritical, isLost);
  if (isLost) card.faults.push(`not critical: ${rule} ${figures}`);
}

/** Judges the first message of an alert if it was a forecast; all its messages name one month of one tenant. */
function scoreForecast(
  card: Scorecard,
  alerts: readonly Sent[],
  { truth, causes, startMs }: { truth: Truth; causes: readonly SharedCause[]; startMs: number },
): void {
  const first = alerts[0];
  if (first === undefined) return;
  const { rule, tenant, period, level, atMs } = first;
  const final = truth.final(tenant, period);
  // A message is held to the higher one of the documented limit and the one that it names.
  const isTrue = final >= Math.max(truth.limit(tenant, period) ?? 0, first.limit ?? 0);
  if (rule === 'workspace_jump') count(card.workspaceJumps, isTrue);
  if (rule !== 'jump' || tenant === null) return;
  const today = (atMs - startMs) / DAY_MS;
  if (causes.some(({ fromDay, toDay }) => today >= fromDay && today < Math.min(toDay, fromDay + 31) + 7))
    count(card.duringCauses, isTrue);
  if (level !== 'likely') return;
  count(card.likely, isTrue);
  const kind = truth.kindOf(tenant, atMs);
  card.likelyByKind[kind] ??= { hits: 0, of: 0 };
  count(card.likelyByKind[kind], isTrue);
  if (!isTrue) {
    const figures = `limit ${Math.round(first.limit ?? 0)}, range ${words(first.range)}, final ${Math.round(final)}`;
    card.faults.push(`did not come true: ${kind} ${tenant} ${period} on ${dayOf(atMs)}: ${figures}`);
  }
}

function scoreRange(card: Scorecard, { rule, tenant, period, level, range, atMs }: Sent, truth: Truth): void {
  if (range === null || level === 'settled' || !['jump', 'new_spend', 'workspace_jump'].includes(rule)) return;
  const final = truth.final(tenant, period);
  const kind = truth.kindOf(tenant, atMs);
  const key: RangeKey = `${level} ${kind}`;
  const counts = card.ranges[key] ?? { held: 0, below: 0, above: 0 };
  card.ranges[key] = counts;
  if (final < range.low) counts.below += 1;
  else if (final > range.high) counts.above += 1;
  else counts.held += 1;
  if (final < range.low || final > range.high) {
    card.faults.push(
      `range missed: ${rule} ${key} ${tenant ?? ''} ${period} on ${dayOf(atMs)}: ${words(range)}, final ${final}`,
    );
  }
}

function scoreSeverity(card: Scorecard, { rule, tenant, period, atMs }: Sent, truth: Truth): void {
  if (!['jump', 'new_spend', 'workspace_jump'].includes(rule)) return;
  const isImmaterial = !truth.isMaterial(tenant, period);
  count(card.immaterialCritical, isImmaterial);
  if (!isImmaterial) return;
  const percent = (100 * truth.shareOfIncrease(tenant, period)).toFixed(2);
  card.faults.push(`immaterial: ${rule} ${tenant ?? ''} ${period} on ${dayOf(atMs)}: ${percent}%`);
}

function countNamed(messages: readonly SentMessage[]): Named[] {
  const counts = new Map<string, number>();
  for (const { alerts } of messages) {
    for (const tenant of new Set(alerts.map((alert) => alert.tenant))) {
      if (tenant !== null) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    }
  }
  return [...counts].map(([tenant, messages]) => ({ tenant, messages }));
}

function most(named: readonly Named[]): Named {
  return named.reduce((best, each) => (each.messages > best.messages ? each : best), { tenant: '', messages: 0 });
}

function isRenamed({ tenants }: World, id: string): boolean {
  return tenants.find((each) => each.id === id)?.family === 'renamed';
}

function subjectOf({ rule, tenant, period }: { rule: string; tenant: string | null; period: string }): string {
  return `${rule} ${tenant ?? ''} ${period}`;
}

function count(share: Share, isHit: boolean): void {
  share.of += 1;
  if (isHit) share.hits += 1;
}

function words(range: SentAlert['range']): string {
  return range === null ? 'none' : `${Math.round(range.low)} to ${Math.round(range.high)}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function emptyScorecard(): Scorecard {
  const share = (): Share => ({ hits: 0, of: 0 });
  return {
    jumps: share(),
    requiredJumps: share(),
    jumpsWithinHabit: share(),
    materialNewSpend: share(),
    before: share(),
    requiredBefore: share(),
    leadDays: [],
    likely: share(),
    likelyByKind: {},
    ranges: {},
    workspaceJumps: share(),
    unsentWorkspaceJumps: 0,
    commonSent: share(),
    duringCauses: share(),
    immaterialCritical: share(),
    notCritical: share(),
    messages: 0,
    freeMessages: 0,
    tenantDays: 0,
    mostMessages: { tenant: '', messages: 0 },
    mostIntermittent: { tenant: '', messages: 0 },
    openAlerts: null,
    faults: [],
  };
}

/** Adds up ranges of one level, or of both, for some kinds of tenants; the workspace's own are left out. */
export function rangesOf(
  { ranges }: Scorecard,
  level: 'likely' | 'happened' | null,
  kinds: readonly TenantKind[] = TENANT_KINDS,
): RangeCounts {
  const sum = { held: 0, below: 0, above: 0 };
  for (const each of ['likely', 'happened'] as const) {
    if (level !== null && each !== level) continue;
    for (const kind of kinds) addRanges(sum, ranges[`${each} ${kind}`]);
  }
  return sum;
}

function addRanges(sum: RangeCounts, { held, below, above }: RangeCounts = { held: 0, below: 0, above: 0 }): void {
  sum.held += held;
  sum.below += below;
  sum.above += above;
}

/** Adds up the years of one method. The most messages about one tenant stay those of one year. */
export function sumScorecards(cards: readonly Scorecard[]): Scorecard {
  const sum = emptyScorecard();
  for (const card of cards) {
    for (const key of SHARES) addShare(sum[key], card[key]);
    for (const [kind, share] of Object.entries(card.likelyByKind) as [TenantKind, Share][]) {
      sum.likelyByKind[kind] ??= { hits: 0, of: 0 };
      addShare(sum.likelyByKind[kind], share);
    }
    for (const [key, counts] of Object.entries(card.ranges) as [RangeKey, RangeCounts][]) {
      sum.ranges[key] ??= { held: 0, below: 0, above: 0 };
      addRanges(sum.ranges[key], counts);
    }
    sum.leadDays.push(...card.leadDays);
    sum.messages += card.messages;
    sum.unsentWorkspaceJumps += card.unsentWorkspaceJumps;
    sum.freeMessages += card.freeMessages;
    sum.tenantDays += card.tenantDays;
    sum.mostMessages = most([sum.mostMessages, card.mostMessages]);
    sum.mostIntermittent = most([sum.mostIntermittent, card.mostIntermittent]);
    if (card.openAlerts !== null) sum.openAlerts = Math.max(sum.openAlerts ?? 0, card.openAlerts);
    sum.faults.push(...card.faults);
  }
  return sum;
}

const SHARES = [
  'jumps',
  'requiredJumps',
  'jumpsWithinHabit',
  'materialNewSpend',
  'before',
  'requiredBefore',
  'likely',
  'workspaceJumps',
  'commonSent',
  'duringCauses',
  'immaterialCritical',
  'notCritical',
] as const;

function addShare(sum: Share, { hits, of }: Share): void {
  sum.hits += hits;
  sum.of += of;
}
