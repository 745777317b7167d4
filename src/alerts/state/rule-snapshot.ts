import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Observation } from '../rules/observation.ts';

/** Facts besides the figures: the part of an observation that is stored with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast' | 'former' | 'commonGrowth'>;

const NOTHING: Basis = { built: null, forecast: null, former: null, commonGrowth: null };

/**
 * Rendered snapshots of this process. The same run reads them again for each alert that another may inhibit, and
 * parsing is slow.
 */
const rendered = new Map<string, Basis>();
const MOST_KEPT = 1000;

export function renderBasis({ built, forecast, former, commonGrowth }: Basis): string | null {
  if (built === null && forecast === null && former === null) return null;
  const basis = { built, forecast, former, commonGrowth };
  const text = stringifyExact(basis);
  if (rendered.size >= MOST_KEPT) rendered.clear();
  rendered.set(text, basis);
  return text;
}

/** Whole numbers are bigints in exact JSON. */
export function readBasis(text: string | null): Basis {
  if (text === null) return NOTHING;
  const known = rendered.get(text);
  if (known !== undefined) return known;
  const { built, forecast, former, commonGrowth } = parseExact(text) as Basis;
  return {
    built: built && { ...built, ratio: Number(built.ratio), minCredits: Number(built.minCredits) },
    forecast,
    former: former && { ...former, tenantKey: Number(former.tenantKey) },
    commonGrowth: commonGrowth && Number(commonGrowth),
  };
}
