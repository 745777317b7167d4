import { ageMs } from '../core/stored-time.ts';
import { linkAt } from '../ledger/journal/links.ts';
import { headOfChain } from '../ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../ledger/store/file/open.ts';

/** How far the replica is behind the ledger. */
export interface Lag {
  /** Links of the chain that wait: runs, closes, reopens and moves. */
  links: number;
  /** Since when the first of them has waited; 0 when none does. */
  seconds: number;
}

/** The lag of a replica that holds the links up to `position`. */
export function lagOf(connection: LedgerConnection, position: number, nowMs: number): Lag {
  const links = Math.max(0, headOfChain(connection).seq - position);
  if (links === 0) return { links, seconds: 0 };
  // The first whose time is known: one of the future says nothing of its age.
  let waitedMs: number | null = null;
  for (let seq = position + 1; seq <= position + links && waitedMs === null; seq += 1) {
    const at = timeOfLink(connection, seq);
    waitedMs = at === null ? null : ageMs(Date.parse(at), nowMs);
  }
  return { links, seconds: Math.round((waitedMs ?? 0) / 1000) };
}

/** When a link of the chain was made, as an ISO time; null when there is no such link. */
export function timeOfLink(connection: LedgerConnection, seq: number): string | null {
  return linkAt(connection, seq)?.at ?? null;
}
