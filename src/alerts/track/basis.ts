import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Observation } from '../measures/observation.ts';

/** What a rule saw beside the figures: the part of an observation that is kept with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast' | 'former' | 'commonGrowth'>;

const NOTHING: Basis = { built: null, forecast: null, former: null, commonGrowth: null };

export function renderBasis({ built, forecast, former, commonGrowth }: Basis): string | null {
  const isNothing = built === null && forecast === null && former === null;
  return isNothing ? null : stringifyExact({ built, forecast, former, commonGrowth });
}

/** Whole numbers are bigints in exact JSON. */
export function readBasis(text: string | null): Basis {
  if (text === null) return NOTHING;
  const { built, forecast, former, commonGrowth } = parseExact(text) as Basis;
  return {
    built: built && { ...built, ratio: Number(built.ratio), minCredits: Number(built.minCredits) },
    forecast,
    former: former && { ...former, tenantKey: Number(former.tenantKey) },
    commonGrowth: commonGrowth && Number(commonGrowth),
  };
}
