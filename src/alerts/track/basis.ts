import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Observation } from '../measures/observation.ts';
import type { Threshold } from '../measures/threshold.ts';

/** What a rule saw beside the figures: the part of an observation that is kept with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast' | 'former'>;

export function renderBasis({ built, forecast, former }: Basis): string | null {
  if (built === null && forecast === null && former === null) return null;
  return stringifyExact({ built, forecast, former });
}

export function readBasis(text: string | null): Basis {
  if (text === null) return { built: null, forecast: null, former: null };
  const { built, forecast, former: known } = parseExact(text) as Basis;
  const former = known === null ? null : { ...known, tenantKey: Number(known.tenantKey) };
  if (built === null) return { built: null, forecast, former };
  const numeric: Threshold = { ...built, ratio: Number(built.ratio), minCredits: Number(built.minCredits) };
  return { built: numeric, forecast, former };
}
