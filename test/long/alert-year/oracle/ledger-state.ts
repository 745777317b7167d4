import { periodIndex } from '../../../../src/core/period.ts';
import { type Change as AlertChange, isNews, wasTold } from '../told.ts';

/** Where an alert of the ledger stands, by the changes that it has gone through. */
export interface AlertState {
  rule: string;
  tenant: string | null;
  month: number;
  state: 'none' | 'pending' | 'firing' | 'ended';
  level: AlertChange['level'];
  /** What the first run of all found tells nobody, and stays as it was found. */
  seeded: boolean;
  /** Somebody was told that it holds. */
  isTold: boolean;
  changedMs: number;
  /** When there was news at each level last. */
  newsMs: Partial<Record<AlertChange['level'], number>>;
}

/** The alerts of the ledger as a run has left them. */
export class LedgerState {
  readonly alerts = new Map<string, AlertState>();

  take(change: AlertChange): void {
    const alert = this.of(change.rule, change.tenant, periodIndex(change.period));
    this.alerts.set(keyOf(change.rule, change.tenant, alert.month), alert);
    alert.level = change.level;
    alert.changedMs = change.atMs;
    if (wasTold(change)) alert.isTold = true;
    if (change.silentBecause === 'seed') alert.seeded = true;
    if (change.change === 'pending') alert.state = 'pending';
    else if (change.change === 'resolved' || change.change === 'expired') alert.state = 'ended';
    else if (isNews(change)) alert.state = 'firing';
    if (isNews(change)) alert.newsMs[change.level] = change.atMs;
  }

  of(rule: string, tenant: string | null, month: number): AlertState {
    const none = { rule, tenant, month, state: 'none' as const, level: 'likely' as const };
    return (
      this.alerts.get(keyOf(rule, tenant, month)) ?? { ...none, seeded: false, isTold: false, changedMs: 0, newsMs: {} }
    );
  }
}

export function keyOf(rule: string, tenant: string | null, month: number): string {
  return `${rule} ${month} ${tenant ?? ''}`;
}

const RANKS = { likely: 0, happened: 1, settled: 2 } as const;

export function rankOf(level: AlertChange['level']): number {
  return RANKS[level];
}
