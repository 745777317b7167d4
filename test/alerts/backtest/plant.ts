import { periodIndex } from '../../../src/core/period.ts';

/** What happens to a tenant, beside using about the same every month. */
export type Plant =
  /** Uses three times as much from this month on, evenly. */
  | { kind: 'rise'; month: string }
  /** Uses twice a month's usage more within one day. */
  | { kind: 'spike'; month: string }
  /** Uses two fifths from this month on. */
  | { kind: 'fall'; month: string }
  /** Begins in the middle of this month. */
  | { kind: 'newcomer'; month: string }
  /** In the middle of this month a fifth of what was counted is taken back. */
  | { kind: 'correction'; month: string };

export interface PlantedTenant {
  id: string;
  plant: Plant | null;
}

/** Credits of a tenant in a month, `f` of which has passed; null when there is no record. Counters only grow. */
export function creditsAt(
  tenant: PlantedTenant,
  index: number,
  month: string,
  f: number,
  bulge: string,
): number | null {
  const { plant } = tenant;
  const usual = usualCredits(index, month);
  // Usage comes in four waves a month, so that early projections are off by up to a tenth.
  const even = (part: number) => part + 0.02 * Math.sin(8 * Math.PI * part) * (1 - part);
  const burst = month === bulge && f >= 10 / 31 ? 0.9 : 0;
  if (plant === null) return Math.round(usual * (even(f) + burst));
  switch (plant.kind) {
    case 'rise':
      return Math.round(usual * (month >= plant.month ? 3 : 1) * (even(f) + burst));
    case 'spike':
      return Math.round(usual * (even(f) + burst + (month === plant.month && f >= 0.65 ? 2 : 0)));
    case 'fall':
      return Math.round(usual * (month >= plant.month ? 0.4 : 1) * (even(f) + burst));
    case 'newcomer':
      if (month < plant.month || (month === plant.month && f < 0.5)) return null;
      return Math.round(usual * (even(f) + burst - (month === plant.month ? even(0.5) : 0)));
    case 'correction':
      return Math.round(usual * (even(f) + burst - (month === plant.month && f >= 0.5 ? 0.2 * even(0.5) : 0)));
  }
}

/** Differs by a few hundredths from month to month. */
function usualCredits(index: number, month: string): number {
  const wobble = ((index * 31 + periodIndex(month) * 17) % 9) - 4;
  return Math.round((20_000 + index * 37) * (1 + wobble / 100));
}

/** `count` tenants of each kind in each month, and as many ordinary ones as it takes to make `total`. */
export function plantTenants(months: readonly string[], count: number, total: number): PlantedTenant[] {
  const kinds = ['rise', 'spike', 'fall', 'newcomer', 'correction'] as const;
  const planted = months.flatMap((month) =>
    kinds.flatMap((kind) =>
      Array.from({ length: count }, (_, n) => ({ id: `${kind}-${month}-${n}`, plant: { kind, month } })),
    ),
  );
  const ordinary = Array.from({ length: total - planted.length }, (_, n) => ({ id: `tenant-${n}`, plant: null }));
  return [...planted, ...ordinary];
}
