import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Observation } from '../rules/observation.ts';

/** Facts besides the figures: the part of an observation that is stored with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast' | 'predecessor' | 'commonGrowth'>;

const NO_SNAPSHOT: Basis = { built: null, forecast: null, predecessor: null, commonGrowth: null };

/**
 * Cache of parsed snapshots. A run reads the same ones again for each alert that may be inhibited, and parsing is
 * slow.
 */
const rendered = new Map<string, Basis>();
const MAX_CACHED = 1000;

export function renderSnapshot({ built, forecast, predecessor, commonGrowth }: Basis): string | null {
  if (built === null && forecast === null && predecessor === null) return null;
  const basis = { built, forecast, predecessor, commonGrowth };
  const text = stringifyExact(basis);
  if (rendered.size >= MAX_CACHED) rendered.clear();
  rendered.set(text, basis);
  return text;
}

/** Whole numbers are bigints in exact JSON. */
export function readSnapshot(text: string | null): Basis {
  if (text === null) return NO_SNAPSHOT;
  const known = rendered.get(text);
  if (known !== undefined) return known;
  const { built, forecast, predecessor, commonGrowth } = parseExact(text) as Basis;
  return {
    built: built && { ...built, ratio: Number(built.ratio), minCredits: Number(built.minCredits) },
    forecast,
    predecessor: predecessor && { ...predecessor, tenantKey: Number(predecessor.tenantKey) },
    commonGrowth: commonGrowth && Number(commonGrowth),
  };
}
