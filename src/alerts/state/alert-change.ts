import type { Period } from '../../core/period.ts';
import type { Level, RuleName, Severity } from '../../core/text/alert-words.ts';
import type { AlertFigures } from './alert-figures.ts';
import type { AlertChangeKind } from './lifecycle.ts';

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

/** Changes that receivers hear of; the others end it or are of no concern to them. */
export const NEWS: readonly AlertChangeKind[] = ['fired', 'escalated', 'eased', 'grown', 'told'];
