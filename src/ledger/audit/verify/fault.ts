import type { LedgerDb } from '../../store/ledger-db.ts';

/** A failed check: the name of the check, the run and entry concerned (null if none), and a message. */
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

/** The largest number of faults that one check reports. */
export const FAULTS_PER_CHECK = 10;

export type Check = (connection: LedgerDb) => Fault[];
