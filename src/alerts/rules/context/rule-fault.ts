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

/** Runs code of one rule. An error is attributed to that rule, except a fault of the disk or the ledger file. */
export function attributeErrors<T>(rule: RuleName, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RuleFault || isMachineFault(error) ? error : new RuleFault(rule, error);
  }
}

export type Faults = ReadonlyMap<RuleName, string>;

interface Evaluation<T> {
  /** Called with the rules that threw: evaluates the other rules. */
  withoutFaulty(faults: Faults): T;
  /** Called if an error cannot be attributed to a rule: the results of all rules are discarded. */
  withoutAny(fault: string): T;
}

/**
 * Evaluates rules inside a savepoint. If a rule throws, its results are rolled back and the other rules are evaluated
 * again, so that its alerts stay unchanged and the run is applied. Faults of the disk or the ledger file are
 * rethrown.
 */
export function evaluateRules<T>(connection: LedgerDb, evaluation: Evaluation<T>): T {
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
