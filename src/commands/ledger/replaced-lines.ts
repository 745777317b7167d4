import { inertText } from '../../core/text/inert-text.ts';
import type { ReplacedLedger } from '../../ledger/transfer/backup/replace-ledger.ts';

/** What became of the ledger that was there. */
export function replacedLines(replaced: ReplacedLedger | null): string[] {
  if (replaced === null) return ['there was no ledger before'];
  return [
    `the ledger before is kept as ${inertText(replaced.path)}`,
    `head digest ${replaced.headDigest ?? 'unknown: this version cannot read it'}`,
  ];
}
