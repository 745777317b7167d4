import type { Period } from '../../core/period.ts';
import { RULES } from '../../core/text/alert-words.ts';
import { LEVEL_RANK, type Level, type RuleName } from '../measures/judgement.ts';
import { rulesWith } from '../rules/table.ts';
import type { AlertStory } from './stories.ts';

/** The same figure for today's settings and for those on trial. */
export interface Sides<T> {
  today: T;
  proposed: T;
}

export interface AlertCount {
  alerts: number;
  /** That each channel would have got. */
  notifications: number;
}

export interface RuleCount {
  rule: RuleName;
  counts: Sides<AlertCount>;
}

/** The alerts about one period. */
export interface PeriodCount {
  period: Period;
  /** Rules that nobody heard of are left out. */
  rules: RuleCount[];
  total: Sides<AlertCount>;
  /** How many tenants they are about. */
  tenants: Sides<number>;
}

/** How long before the jump was settled a level was told; of alerts that went through both. */
export interface LeadTime {
  alerts: number;
  /** Milliseconds; null without alerts. */
  medianMs: number | null;
  shortestMs: number | null;
  longestMs: number | null;
}

/** What became of paces that were told. */
export interface PaceOutcome {
  told: number;
  /** The jump happened later. */
  cameTrue: number;
  /** It ended without. */
  neverTrue: number;
  /** Not known yet at the end of the history. */
  undecided: number;
}

/** Who an alert is about and how far it came. */
export interface AlertOutline {
  rule: RuleName;
  tenantId: string | null;
  period: Period;
  /** The highest that it reached. */
  level: Level;
  /** When it fired first, milliseconds since the epoch. */
  firstMs: number;
}

/** An alert that both sides give, but at another time or up to another level. */
export interface ShiftedAlert {
  rule: RuleName;
  tenantId: string | null;
  period: Period;
  sides: Sides<{ level: Level; firstMs: number }>;
  /** How much later the settings on trial tell of it; below zero: earlier. */
  laterMs: number;
}

export interface TenantNoise {
  tenantId: string;
  alerts: Sides<number>;
  notifications: Sides<number>;
}

export interface Comparison {
  periods: PeriodCount[];
  rules: RuleCount[];
  total: Sides<AlertCount>;
  /** Of each tenant that has any alert, the noisiest by today's settings first. */
  tenants: TenantNoise[];
  leads: { rule: RuleName; level: Level; lead: Sides<LeadTime> }[];
  paces: { rule: RuleName; outcome: Sides<PaceOutcome> }[];
  only: Sides<AlertOutline[]>;
  shifted: ShiftedAlert[];
}

/** The rules that go through levels. */
const STAGED = rulesWith(({ hasLevels }) => hasLevels === true);
const EARLY: readonly Level[] = ['likely', 'happened'];

/** Sets what the two replays of one history found side by side. */
export function compareStories(stories: Sides<readonly AlertStory[]>): Comparison {
  const periods = [...new Set(both(stories).map(({ period }) => period))].sort();
  return {
    periods: periods.map((period) => {
      const own = map(stories, (side) => side.filter((story) => story.period === period));
      const tenants = map(own, (side) => new Set(side.flatMap(({ tenantId }) => tenantId ?? [])).size);
      return { period, rules: countRules(own), total: map(own, count), tenants };
    }),
    rules: countRules(stories),
    total: map(stories, count),
    tenants: countTenants(stories),
    leads: STAGED.flatMap((rule) =>
      EARLY.map((level) => ({ rule, level, lead: map(stories, (side) => leadTime(side, rule, level)) })),
    ),
    paces: STAGED.map((rule) => ({ rule, outcome: map(stories, (side) => paceOutcome(side, rule)) })),
    ...compareOneByOne(stories),
  };
}

function map<T, U>({ today, proposed }: Sides<T>, convert: (side: T) => U): Sides<U> {
  return { today: convert(today), proposed: convert(proposed) };
}

function both({ today, proposed }: Sides<readonly AlertStory[]>): AlertStory[] {
  return [...today, ...proposed];
}

function count(stories: readonly AlertStory[]): AlertCount {
  return { alerts: stories.length, notifications: stories.reduce((sum, story) => sum + story.notifications, 0) };
}

function countRules(stories: Sides<readonly AlertStory[]>): RuleCount[] {
  const present = new Set(both(stories).map(({ rule }) => rule));
  return RULES.filter((rule) => present.has(rule)).map((rule) => ({
    rule,
    counts: map(stories, (side) => count(side.filter((story) => story.rule === rule))),
  }));
}

function countTenants(stories: Sides<readonly AlertStory[]>): TenantNoise[] {
  const counts = new Map<string, TenantNoise>();
  for (const side of ['today', 'proposed'] as const) {
    for (const { tenantId, notifications } of stories[side]) {
      if (tenantId === null) continue;
      const nothing = { today: 0, proposed: 0 };
      const known = counts.get(tenantId) ?? { tenantId, alerts: { ...nothing }, notifications: { ...nothing } };
      known.alerts[side] += 1;
      known.notifications[side] += notifications;
      counts.set(tenantId, known);
    }
  }
  const noise = ({ notifications: { today, proposed } }: TenantNoise): [number, number] => [today, proposed];
  return [...counts.values()].sort((a, b) => {
    const [[todayA, proposedA], [todayB, proposedB]] = [noise(a), noise(b)];
    return todayB - todayA || proposedB - proposedA || (a.tenantId < b.tenantId ? -1 : 1);
  });
}

function firstAt({ news }: AlertStory, level: Level): number | null {
  return news.find((piece) => piece.level === level)?.atMs ?? null;
}

function leadTime(stories: readonly AlertStory[], rule: RuleName, level: Level): LeadTime {
  const leadsMs = stories
    .filter((story) => story.rule === rule)
    .flatMap((story) => {
      const [early, final] = [firstAt(story, level), firstAt(story, 'settled')];
      return early === null || final === null ? [] : [final - early];
    })
    .sort((a, b) => a - b);
  return {
    alerts: leadsMs.length,
    medianMs: medianOf(leadsMs),
    shortestMs: leadsMs[0] ?? null,
    longestMs: leadsMs.at(-1) ?? null,
  };
}

/** Of an even number, the mean of the two in the middle. */
export function medianOf(sorted: readonly number[]): number | null {
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  return high === undefined || low === undefined ? null : (low + high) / 2;
}

function paceOutcome(stories: readonly AlertStory[], rule: RuleName): PaceOutcome {
  const outcome: PaceOutcome = { told: 0, cameTrue: 0, neverTrue: 0, undecided: 0 };
  for (const story of stories) {
    if (story.rule !== rule || firstAt(story, 'likely') === null) continue;
    outcome.told += 1;
    if (highest(story) !== 'likely') outcome.cameTrue += 1;
    else if (story.open) outcome.undecided += 1;
    else outcome.neverTrue += 1;
  }
  return outcome;
}

function highest({ news }: AlertStory): Level {
  return news.reduce<Level>((high, { level }) => (LEVEL_RANK[level] > LEVEL_RANK[high] ? level : high), 'likely');
}

function compareOneByOne(stories: Sides<readonly AlertStory[]>): Pick<Comparison, 'only' | 'shifted'> {
  const keyOf = ({ rule, tenantId, period }: AlertStory): string => JSON.stringify([rule, tenantId, period]);
  const byKey = map(stories, (side) => new Map(side.map((story) => [keyOf(story), story])));
  const without = (side: readonly AlertStory[], other: ReadonlyMap<string, AlertStory>) =>
    side.filter((story) => !other.has(keyOf(story))).map(outline);
  const shifted = stories.today.flatMap((story): ShiftedAlert[] => {
    const counterpart = byKey.proposed.get(keyOf(story));
    if (counterpart === undefined) return [];
    const { rule, tenantId, period, level, firstMs } = outline(story);
    const other = outline(counterpart);
    if (level === other.level && firstMs === other.firstMs) return [];
    const sides = { today: { level, firstMs }, proposed: { level: other.level, firstMs: other.firstMs } };
    return [{ rule, tenantId, period, sides, laterMs: other.firstMs - firstMs }];
  });
  const only = {
    today: without(stories.today, byKey.proposed),
    proposed: without(stories.proposed, byKey.today),
  };
  return { only, shifted };
}

function outline(story: AlertStory): AlertOutline {
  const { rule, tenantId, period } = story;
  return { rule, tenantId, period, level: highest(story), firstMs: story.news[0]?.atMs ?? 0 };
}
