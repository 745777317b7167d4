import { DAY_MS } from '../calendar.ts';
import { boundsOf, daysOf, type Seen, type TenantSeen } from './seen.ts';

/** `maybe`: so near a limit that rounding decides, or documentation leaves it open. */
export type Verdict = 'yes' | 'no' | 'maybe';

/** Rounding, and readings some minutes apart, may decide within so much of a limit. */
const SLACK = 0.02;
const MONTHS = 12;

export interface PaceSaid {
  /** The month heads for its threshold. */
  verdict: Verdict;
  /** Its latest days may head for nine tenths of it, so that who waits goes on waiting. */
  near: Verdict;
  /** It is ahead of a straight line, or has used a sixth of the month before in four days: else nobody begins to wait. */
  looked: Verdict;
}

export const NO_PACE: PaceSaid = { verdict: 'no', near: 'no', looked: 'no' };

/** What documentation says of the pace of a tenant now; `limit` is the threshold. */
export function paceOf(seen: Seen, tenant: TenantSeen, month: number, limit: number): PaceSaid {
  const { nowMs } = seen;
  const [startMs] = boundsOf(month);
  const elapsed = (nowMs - startMs) / DAY_MS;
  const current = seen.credits(tenant, month);
  // In the open month nothing is told before the fifth day is over, nor after a first month.
  if (elapsed < 5 || tenant.first >= month - 1) return NO_PACE;
  const past = pastMonths(seen, tenant, month);
  const used = new Map<number, number | null>();
  const day = (ago: number): number | null => {
    const known = used.get(ago) ?? seen.used(tenant, nowMs - (ago + 1) * DAY_MS, nowMs - ago * DAY_MS);
    used.set(ago, known);
    return known;
  };
  let idle = 0;
  for (let ago = 0; ago < 28; ago += 1) if (day(ago) === 0) idle += 1;

  const slow = past.length === 0 ? null : slowOf(current, elapsed, month, past);
  let slowSays = slow === null ? 'no' : atLeast(slow, limit);
  if (slow !== null && slowSays !== 'no') {
    const ofMonth = Array.from({ length: Math.floor(elapsed) }, (_, ago) => day(ago) ?? 0);
    const without = (slow * (current - Math.max(0, ...ofMonth)) * elapsed) / (current * (elapsed - 1));
    const daysOfUse = ofMonth.filter((each) => each > 0).length;
    slowSays = least(slowSays, daysOfUse < 4 ? 'no' : atLeast(without, limit));
    slowSays = least(slowSays, burstGoesOn({ past, current, limit, day }));
  }

  const rest =
    past.length === 0 ? null : current + restOf({ seen, tenant, past, left: Math.ceil(daysOf(month) - elapsed) });
  const before = seen.credits(tenant, month - 1);
  const looked = most(
    atLeast(current, (limit * elapsed) / daysOf(month)),
    atLeast(sum([0, 1, 2, 3].map((ago) => day(ago) ?? 0)), before / 6, 0.06),
  );
  const restSays = rest === null ? 'no' : atLeast(rest, limit);

  const fast = idle > 14 || past.length === 0 ? [] : fastOf({ seen, tenant, month, current, elapsed, day });
  const fastSays = fast
    .map(({ surges, lower, higher }) => least(surges, most(atLeast(lower, limit), open(atLeast(higher, limit)))))
    .reduce(most, 'no');
  const regular = idle > 14 ? 'no' : slowSays;
  const heads = Math.max(0, ...fast.map(({ higher }) => higher));
  return { verdict: most(most(regular, restSays), fastSays), near: open(atLeast(heads, limit * 0.9)), looked };
}

/** `no`: the latest four days are at most a quarter above usual, and with a usual rest the month stays below its threshold. */
function burstGoesOn(input: {
  past: readonly PastMonth[];
  current: number;
  limit: number;
  day: (ago: number) => number | null;
}): Verdict {
  const { past, current, limit, day } = input;
  const usual = usualDays(day);
  if (usual === null) return 'yes';
  const rests = past.map(({ total, reached }) => Math.max(0, total - reached)).sort((a, b) => a - b);
  const reaches = atLeast(current + (rests[Math.floor(rests.length / 2)] ?? 0), limit);
  const latest = sum([0, 1, 2, 3].map((ago) => day(ago) ?? 0));
  return most(reaches, atLeast(latest, sum(usual.slice(0, 4)) * 1.25));
}

/** Credits of each day of the week, the one that ended now first: the mean of the middle two of four weeks. */
function usualDays(day: (ago: number) => number | null): number[] | null {
  const usual: number[] = [];
  for (let ago = 0; ago < 7; ago += 1) {
    const weeks = [7, 14, 21, 28].map((back) => day(ago + back));
    if (weeks.includes(null)) return null;
    const [, low = 0, high = 0] = (weeks as number[]).sort((a, b) => a - b);
    usual.push((low + high) / 2);
  }
  return usual.some((used) => used > 0) ? usual : null;
}

interface PastMonth {
  before: number;
  total: number;
  /** What it had come to at the same point. */
  reached: number;
}

/** The last twelve months that were read at this point and are not the tenant's first. */
function pastMonths(seen: Seen, tenant: TenantSeen, month: number): PastMonth[] {
  const [startMs] = boundsOf(month);
  const found: PastMonth[] = [];
  for (let before = 1; before <= MONTHS && month - before > tenant.first; before += 1) {
    const [itsStartMs, itsEndMs] = boundsOf(month - before);
    const atMs = itsStartMs + (seen.nowMs - startMs);
    if (atMs < itsEndMs && !seen.isRead(atMs)) continue;
    const reached = seen.reading(tenant, month - before, atMs);
    if (reached !== null) found.push({ before, total: seen.credits(tenant, month - before), reached });
  }
  return found;
}

/** What 90% of the stretches as long as the rest used, of the last 120 days; at most the middle rest of the months. */
function restOf(input: { seen: Seen; tenant: TenantSeen; past: readonly PastMonth[]; left: number }): number {
  const { seen, tenant, past, left } = input;
  const stretches: number[] = [];
  for (let ended = 0; ended + left <= 120; ended += 3) {
    const used = seen.used(tenant, seen.nowMs - (ended + left) * DAY_MS, seen.nowMs - ended * DAY_MS);
    if (used === null) break;
    stretches.push(used);
  }
  const rests = past.map(({ total, reached }) => Math.max(0, total - reached)).sort((a, b) => a - b);
  if (stretches.length * 3 < 28) return ((rests[0] ?? 0) * rests.length) / (rests.length + 1);
  const usual = stretches.sort((a, b) => a - b)[Math.floor(stretches.length * 0.1)] ?? 0;
  return Math.min(usual, rests[Math.floor(rests.length / 2)] ?? 0);
}

/** Drawn out straight, and as each earlier month went on from this point: the lowest. */
function slowOf(current: number, elapsed: number, month: number, past: readonly PastMonth[]): number {
  const length = daysOf(month);
  const drawn = past.flatMap(({ before, total, reached }) => {
    if (reached <= 0) return [];
    const straight = (current * total) / reached;
    const itsLength = daysOf(month - before);
    const scaled = itsLength > elapsed ? [(straight * length) / itsLength] : [];
    return before === 1 ? [straight, ...scaled] : scaled;
  });
  return Math.min((current * length) / elapsed, ...drawn);
}

interface FastInput {
  seen: Seen;
  tenant: TenantSeen;
  month: number;
  current: number;
  elapsed: number;
  /** Credits of the day that ended so many days ago. */
  day: (ago: number) => number | null;
}

/** What the month comes to by the latest days that stand out. */
interface FastSaid {
  surges: Verdict;
  /** Between these, by whether weeks or months foretell better. */
  lower: number;
  higher: number;
}

function fastOf({ seen, tenant, month, current, elapsed, day }: FastInput): FastSaid[] {
  const usual = usualDays(day);
  if (usual === null) return [];
  const week = sum(usual);
  const left = daysOf(month) - elapsed;
  let rest = 0;
  for (let next = 0; next < left; next += 1) rest += (usual[6 - (next % 7)] ?? 0) * Math.min(1, left - next);
  const found: FastSaid[] = [];
  for (const [sevenths, surge, oneDay] of [
    [4, 1.5, 0.6],
    [2, 1.7, 0.7],
  ] as const) {
    const stretch = (ended: number, part: number) => {
      const days: number[] = [];
      let expected = 0;
      while (expected * 7 < part * week * (1 - 1e-9) && days.length < 7) {
        const used = day(ended + days.length);
        if (used === null) return null;
        expected += usual[(ended + days.length) % 7] ?? 0;
        days.push(used);
      }
      return { days, expected, used: sum(days), rate: sum(days) / expected };
    };
    const latest = stretch(0, sevenths);
    if (latest === null || latest.rate < surge * (1 - SLACK)) continue;
    let surges = least(atLeast(latest.rate, surge), atLeast(latest.used * oneDay, Math.max(...latest.days)));
    for (let ended = latest.days.length; ended <= 60; ended += 1) {
      const earlier = stretch(ended, sevenths);
      if (earlier !== null && earlier.used > 0) surges = least(surges, atLeast(latest.rate, surge * earlier.rate));
    }
    let highest = latest.rate;
    for (let days = 1; days <= latest.days.length; days += 1) {
      const expected = sum(usual.slice(0, days));
      if (expected * 7 >= 2 * week * (1 - 1e-9))
        highest = Math.max(highest, sum(latest.days.slice(0, days)) / expected);
    }
    const byWeeks = Math.max(current + latest.rate * rest, (current + highest * rest) * 0.95);
    const lower = Math.min(byWeeks, byMonthBefore({ seen, tenant, month, current }, latest) ?? byWeeks);
    found.push({ surges, lower, higher: byWeeks });
  }
  return found;
}

/** The rest of the latest earlier month that was read here, times how the latest days compare with its same days. */
function byMonthBefore(
  { seen, tenant, month, current }: Pick<FastInput, 'seen' | 'tenant' | 'month' | 'current'>,
  latest: { days: readonly number[]; used: number },
): number | null {
  const [startMs] = boundsOf(month);
  for (let before = 1; before <= 3 && month - before > tenant.first; before += 1) {
    const [itsStartMs, itsEndMs] = boundsOf(month - before);
    const atMs = itsStartMs + (seen.nowMs - startMs);
    const fromMs = atMs - latest.days.length * DAY_MS;
    if ((atMs < itsEndMs && !seen.isRead(atMs)) || (fromMs < itsEndMs && !seen.isRead(fromMs))) continue;
    const [reached, earlier] = [atMs, fromMs].map((at) => seen.reading(tenant, month - before, at));
    if (reached === null || earlier === null || reached === undefined || earlier === undefined) continue;
    const left = Math.max(0, seen.credits(tenant, month - before) - reached);
    return reached > earlier ? current + (left * latest.used) / (reached - earlier) : null;
  }
  return null;
}

const RANK: Readonly<Record<Verdict, number>> = { no: 0, maybe: 1, yes: 2 };

export function atLeast(value: number, limit: number, slack = SLACK): Verdict {
  return value >= limit * (1 + slack) ? 'yes' : value < limit * (1 - slack) ? 'no' : 'maybe';
}

export function least(a: Verdict, b: Verdict): Verdict {
  return RANK[a] <= RANK[b] ? a : b;
}

export function most(a: Verdict, b: Verdict): Verdict {
  return RANK[a] >= RANK[b] ? a : b;
}

/** What is not ruled out. */
function open(verdict: Verdict): Verdict {
  return verdict === 'no' ? 'no' : 'maybe';
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
