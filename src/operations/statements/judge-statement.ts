import { createHash, type KeyObject } from 'node:crypto';
import { eventsSinceClose, type LaterPeriodEvent } from '../../ledger/audit/anchor/check-anchors.ts';
import { isSignedBy, parseCheckpoint } from '../../ledger/audit/anchor/checkpoint-log.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type StatementVerdict, verifyStatement } from '../../verifier/verify-statement.ts';

/**
 * The result of comparing the close of a statement with one source outside the statement: a digest, a checkpoint or a
 * ledger.
 */
export interface Anchor {
  kind: 'digest' | 'checkpoint' | 'ledger';
  /** True if the source confirms the close. */
  holds: boolean;
  /** True if the source contains the close of the month, even in a checkpoint that the expected key did not sign. */
  isKnown: boolean;
  /**
   * The later event that replaced the close; null if none is known. It is always null for a digest or a checkpoint:
   * only a ledger has such events.
   */
  supersededBy: LaterPeriodEvent | null;
}

export type AnchorSource = (closeDigest: string) => Anchor | Promise<Anchor>;

export function checkAgainstDigest(closeDigest: string, expected: string): Anchor {
  const holds = expected === closeDigest;
  return { kind: 'digest', holds, isKnown: holds, supersededBy: null };
}

export function checkAgainstCheckpoints(closeDigest: string, lines: readonly string[], key: KeyObject): Anchor {
  const matching = lines.map(parseCheckpoint).filter((checkpoint) => checkpoint?.digest === closeDigest);
  const holds = matching.some((checkpoint) => checkpoint !== null && isSignedBy(checkpoint, key));
  return { kind: 'checkpoint', holds, isKnown: matching.length > 0, supersededBy: null };
}

export function checkAgainstLedger(closeDigest: string, connection: LedgerDb): Anchor {
  const events = eventsSinceClose(connection, closeDigest);
  return { kind: 'ledger', holds: events !== null, isKnown: events !== null, supersededBy: events?.at(-1) ?? null };
}

export interface StatementJudgement {
  verdict: StatementVerdict;
  anchors: readonly Anchor[];
  /** True if the statement is consistent and every source confirms its close. False if no source was given. */
  isAuthentic: boolean;
  supersededBy: LaterPeriodEvent | null;
  /** True if the statement is inconsistent or superseded, or if a source does not confirm it. */
  isFault: boolean;
}

/**
 * Verifies a statement in JSON, and compares its close with each source. Without a source, the statement can only be
 * found consistent, which does not prove where it comes from.
 */
export async function judgeStatement(text: string, sources: readonly AnchorSource[]): Promise<StatementJudgement> {
  const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
  const anchors: Anchor[] = [];
  if (verdict.isConsistent) for (const check of sources) anchors.push(await check(verdict.closeDigest));
  const isAuthentic = verdict.isConsistent && anchors.length > 0 && anchors.every(({ holds }) => holds);
  const supersededBy = anchors.find((anchor) => anchor.supersededBy !== null)?.supersededBy ?? null;
  const isFault = !verdict.isConsistent || supersededBy !== null || (anchors.length > 0 && !isAuthentic);
  return { verdict, anchors, isAuthentic, supersededBy, isFault };
}
