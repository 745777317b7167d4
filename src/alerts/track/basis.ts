import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Threshold } from '../rules/measures/threshold.ts';
import type { Observation } from '../rules/observation.ts';

/** What a rule saw beside the figures: the part of an observation that is kept with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast'>;

export function renderBasis({ built, forecast }: Basis): string | null {
  return built === null && forecast === null ? null : stringifyExact({ built, forecast });
}

export function readBasis(text: string | null): Basis {
  if (text === null) return { built: null, forecast: null };
  const { built, forecast = null } = parseExact(text) as Partial<Basis>;
  if (built == null) return { built: null, forecast };
  const { ratio, minCredits, minIncrease } = built;
  const numbers = { ratio: Number(ratio), minCredits: Number(minCredits) };
  const numeric: Threshold = { ...built, ...numbers, minIncrease: minIncrease === null ? null : Number(minIncrease) };
  return { built: numeric, forecast };
}
