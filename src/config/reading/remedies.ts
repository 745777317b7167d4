import { z } from 'zod';
import { fileSchema } from '../schema/file-schema.ts';

/** What to do about the setting at this path, such as `workspaces[0].cron`: its description in the schema. */
export function remedyFor(path: string): string {
  const place = placeOf(path);
  const known = remedies();
  const remedy = known.get(place) ?? known.get(place.replace(/\[\]$/, ''));
  return remedy ?? 'Compare it with the sample that `usage-ledger init` writes';
}

export function isSetting(path: string): boolean {
  return remedies().has(placeOf(path));
}

/** List items are written `[]`. */
function placeOf(path: string): string {
  return path.replace(/\[\d+\]/g, '[]');
}

/** The remedy of each setting that can be written down, groups included, by its path, such as `workspaces[].signing.payload`. */
export function remedies(): Map<string, string | null> {
  return new Map(remediesWithin(fileSchema, ''));
}

function remediesWithin(schema: unknown, path: string): [path: string, remedy: string | null][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return remediesWithin(schema.unwrap(), path);
  }
  if (schema instanceof z.ZodPipe) return remediesWithin(schema.in, path);
  if (schema instanceof z.ZodArray) return remediesWithin(schema.element, `${path}[]`);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    return schema.options.flatMap((option) => remediesWithin(option, path));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}.${key}`;
    return [[own, inner.description ?? null], ...remediesWithin(inner, own)];
  });
}
