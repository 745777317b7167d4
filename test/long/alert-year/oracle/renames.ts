import { DAY_MS } from '../calendar.ts';
import type { Seen, TenantSeen } from './seen.ts';

/** A newcomer that may be the new id of a tenant that stopped. */
export interface Pair {
  former: string;
  newcomer: string;
  /** No other newcomer may be it, and the volume is well within a third. */
  isSure: boolean;
}

/** A tenant that has used nothing since `lastMs`, and `daily` credits a day in the four weeks before. */
export interface Stop {
  former: string;
  lastMs: number;
  daily: number;
}

/** A newcomer is known after a day: of half hours, to which these times are rounded. */
const LEAST_DAYS = 1 - 0.25 / 24;

/** Who, of all that began from a day before to a week after a tenant's last use, uses as much as that did. */
export function newIdsOf(seen: Seen, { former, lastMs, daily }: Stop, month: number): Pair[] {
  const found = [...seen.tenants.values()].flatMap((newcomer) => {
    const beganMs = beginOf(newcomer, month);
    if (beganMs === null || beganMs < lastMs - 1.1 * DAY_MS || beganMs > lastMs + 7.1 * DAY_MS) return [];
    const days = (seen.nowMs - beganMs) / DAY_MS;
    const share = (seen.used(newcomer, beganMs, seen.nowMs) ?? 0) / days / daily;
    return days < LEAST_DAYS || share < 0.5 || share > 1.7
      ? []
      : [{ id: newcomer.id, isSure: share > 0.7 && share < 1.3 }];
  });
  const isAlone = found.length === 1;
  return found.map(({ id, isSure }) => ({ former, newcomer: id, isSure: isSure && isAlone }));
}

/** When a tenant was read first that had nothing in the month before; of this month or the one before. */
function beginOf(tenant: TenantSeen, month: number): number | null {
  const credits = (each: number) => tenant.months.get(each)?.credits.at(-1) ?? 0;
  const own = [month, month - 1].find((each) => credits(each) > 0 && credits(each - 1) <= 0);
  return own === undefined ? null : (tenant.months.get(own)?.firstSeenMs ?? null);
}
