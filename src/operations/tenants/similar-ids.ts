import { inertText } from '../../core/text/inert-text.ts';

/** Normalizes an id for comparison, so that case, surrounding space and Unicode compatibility forms do not matter. */
export function foldId(id: string): string {
  return id.normalize('NFKC').trim().toLowerCase();
}

/** Returns a hint for an unknown id whose `foldId` matches a known tenant. */
export function unknownTenantHint(id: string, known: string): string {
  return `${quotedId(id)} is not a known tenant. Did you mean ${quotedId(known)}?`;
}

export function quotedId(id: string): string {
  return inertText(JSON.stringify(id));
}
