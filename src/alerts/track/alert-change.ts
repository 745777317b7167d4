import type { Period } from '../../core/period.ts';
import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { Level, RuleName, Severity } from '../measures/judgement.ts';
import type { AlertFigures } from './alert-figures.ts';
import type { AlertChangeKind } from './lifecycle.ts';
import type { ChannelRoute } from './routes.ts';

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

export interface RunAlerts {
  changes: AlertChange[];
  /** So many times a channel is owed something of an alert at once that it was not owed before. */
  due: number;
}

export interface BookContext {
  connection: LedgerDb;
  /** Null, like its id, for the ledger as a whole. */
  workspaceKey: number | null;
  workspaceId: string | null;
  runKey: number | null;
  runId: string | null;
  /** `run`, `timer`, or a person. */
  actor: string;
  /** The first sync of a workspace records what it finds and tells nobody. */
  seeding: boolean;
  /** The workspace is being ended: what was open is over because nobody reads it any more. */
  ending?: boolean;
  at: string;
  nowMs: number;
  /** The channels that are notified. */
  routes: readonly ChannelRoute[];
  /** What credits cost; absent where alerts carry no money. */
  priceOf?: CreditPricer | null;
}

/** Changes that receivers hear of; the others end it or are of no concern to them. */
export const NEWS: readonly AlertChangeKind[] = ['fired', 'escalated', 'eased', 'grown', 'told'];
