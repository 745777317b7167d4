import { messageOf } from '../../../core/errors.ts';
import type { RuleName } from '../../../core/text/alert-words.ts';
import { isMachineFault } from '../../../ledger/store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';

class RuleFault extends Error {
  readonly rule: RuleName;

  constructor(rule: RuleName, cause: unknown) {
    super(`${rule}: ${messageOf(cause)}`, { cause });
    this.rule = rule;
  }
}

/** Carries out what is of one rule; whatever it throws says so, but for what the disk or the file of the ledger is to blame for. */
export function blaming<T>(rule: RuleName, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RuleFault || isMachineFault(error) ? error : new RuleFault(rule, error);
  }
}

export type Faults = ReadonlyMap<RuleName, string>;

interface Evaluation<T> {
  /** All rules but those that have thrown already. */
  withoutFaulty(faults: Faults): T;
  /** No rule is to blame, so nothing that any of them found can stand. */
  withoutAny(fault: string): T;
}

/**
 * Evaluates rules behind a savepoint, once more without each that throws: its alerts stay as they are, and the run that is
 * being applied does not suffer. What the disk or the file of the ledger is to blame for goes on to the caller.
 */
export function evaluateAll<T>(connection: LedgerDb, evaluation: Evaluation<T>): T {
  const faults = new Map<RuleName, string>();
  for (;;) {
    try {
      return connection.transaction(() => evaluation.withoutFaulty(faults))();
    } catch (error) {
      if (isMachineFault(error) || !connection.inTransaction) throw error;
      if (!(error instanceof RuleFault) || faults.has(error.rule)) return evaluation.withoutAny(messageOf(error));
      faults.set(error.rule, error.message);
    }
  }
}
