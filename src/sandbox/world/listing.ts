import type { Period } from '../../core/period.ts';
import { hash32 } from './generate.ts';

/** A tenant, shared by all its records. `json` is its id as a JSON string. */
export interface StoredTenant {
  readonly id: string;
  readonly json: string;
  /** Index in the generator; -1 for a tenant that is not generated. */
  readonly index: number;
}

/** The tenants present in one period, in the order of their ids; a listing is a row of these. */
export interface Segment {
  period: Period;
  tenants: readonly StoredTenant[];
}

/** Positions of a shuffled listing are sorted by hash * 2^25 + position, which a double holds exactly. */
const POSITIONS = 2 ** 25;

/** Finds the record at a position of the unshuffled listing; fast while positions rise, right in any order. */
export function createCursor(
  segments: readonly Segment[],
): (position: number) => { tenant: StoredTenant; period: Period } | null {
  let at = 0;
  let start = 0;
  return (position) => {
    if (position < start) {
      at = 0;
      start = 0;
    }
    let segment = segments[at];
    while (segment !== undefined && position >= start + segment.tenants.length) {
      start += segment.tenants.length;
      at += 1;
      segment = segments[at];
    }
    const tenant = segment?.tenants[position - start];
    return segment === undefined || tenant === undefined ? null : { tenant, period: segment.period };
  };
}

/**
 * The positions of a listing in the order of a hash of their keys: shuffled, and yet a record that comes or goes moves
 * no other.
 */
export function shuffledPositions(segments: readonly Segment[], total: number, seed: number): Uint32Array {
  const keyed = new Float64Array(total);
  let position = 0;
  for (const { period, tenants } of segments) {
    const salt = textHash(period, seed);
    for (const tenant of tenants) {
      keyed[position] = (textHash(tenant.id, salt) >>> 4) * POSITIONS + position;
      position += 1;
    }
  }
  return Uint32Array.from(keyed.sort(), (key) => key % POSITIONS);
}

/**
 * The positions of a listing from the highest credits to the lowest; equal ones keep the order of period and tenant.
 * Sorted anew for every page, so a value that changes moves its record at once.
 */
export function positionsByCredits(
  segments: readonly Segment[],
  total: number,
  creditsOf: (tenant: StoredTenant, period: Period) => number | bigint,
): Uint32Array {
  const credits = segments.flatMap(({ period, tenants }) => tenants.map((tenant) => creditsOf(tenant, period)));
  return Uint32Array.from({ length: total }, (_, position) => position).sort((left, right) => {
    const ofLeft = credits[left] ?? 0;
    const ofRight = credits[right] ?? 0;
    return ofLeft === ofRight ? left - right : ofLeft > ofRight ? -1 : 1;
  });
}

function textHash(text: string, seed: number): number {
  let hash = hash32(seed);
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash32(hash);
}
