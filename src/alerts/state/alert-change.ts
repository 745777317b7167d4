import type { Period } from '../../core/period.ts';
import type { Level, RuleName, Severity } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { AlertFigures } from './alert-figures.ts';
import type { AlertChangeKind } from './lifecycle.ts';

/** A state change of an alert in an evaluation. `silent`: nobody was notified, because of `silentBecause`. */
export interface AlertChange extends AlertFigures {
  alertId: string;
  change: AlertChangeKind;
  rule: RuleName;
  level: Level;
  severity: Severity;
  tenantId: string | null;
  period: Period | null;
  silent: boolean;
  silentBecause: string | null;
}

/** What an evaluation of alerts changed. */
export interface EvaluationResult {
  changes: AlertChange[];
  /** Number of notifications that became due in the evaluation. */
  due: number;
}

/** The workspace, run and time of an evaluation. */
export interface EvaluationContext {
  connection: LedgerDb;
  /** Null, like `workspaceId`, when the alerts are about the ledger itself. */
  workspaceKey: number | null;
  workspaceId: string | null;
  runKey: number | null;
  /** `run`, `timer`, or the name of a person. */
  actor: string;
  /** True in the first sync of a workspace, which records alerts without notifying anyone. */
  seeding: boolean;
  at: string;
  nowMs: number;
}

/** Changes that channels are notified of. All others end an alert or matter to no receiver. */
export const NOTIFIABLE_CHANGES: readonly AlertChangeKind[] = ['fired', 'escalated', 'eased', 'grown', 'notified'];
