import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import type { Observation } from '../rules/observation.ts';

/** Facts besides the figures: the part of an observation that is stored with the alert. */
type Basis = Pick<Observation, 'built' | 'forecast' | 'predecessor' | 'commonGrowth'>;

const NO_SNAPSHOT: Basis = { built: null, forecast: null, predecessor: null, commonGrowth: null };

/**
 * Cache of parsed snapshots by their JSON. A run reads the snapshot of an inhibiting alert again for each alert that it
 * may inhibit, and parsing is slow.
 */
const rendered = new Map<string, Basis>();
const MAX_CACHED = 1000;

/** Converts the snapshot to JSON; null if it contains no facts. */
export function toSnapshotJson({ built, forecast, predecessor, commonGrowth }: Basis): string | null {
  if (built === null && forecast === null && predecessor === null) return null;
  const basis = { built, forecast, predecessor, commonGrowth };
  const text = stringifyExact(basis);
  if (rendered.size >= MAX_CACHED) rendered.clear();
  rendered.set(text, basis);
  return text;
}

/** Parses a stored snapshot. Exact JSON makes whole numbers bigints, so some are converted to numbers. */
export function parseSnapshot(text: string | null): Basis {
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
