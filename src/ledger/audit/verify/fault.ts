import type { LedgerDb } from '../../store/ledger-db.ts';

/** One thing that is not as it must be: which check, where, and what was found. */
export interface Fault {
  check:
    | 'integrity'
    | 'references'
    | 'chain'
    | 'entries'
    | 'invariant'
    | 'runs'
    | 'walks'
    | 'periods'
    | 'closes'
    | 'adjustments'
    | 'controls'
    | 'money'
    | 'anchor'
    | 'schema';
  runId: string | null;
  entryId: number | null;
  message: string;
}

export function fault(
  check: Fault['check'],
  message: string,
  { runId = null, entryId = null }: Partial<Pick<Fault, 'runId' | 'entryId'>> = {},
): Fault {
  return { check, runId, entryId, message };
}

/** Faults listed of one check; the first is what matters. */
export const FAULTS_A_CHECK = 10;

export type Check = (connection: LedgerDb) => Fault[];
