import type Database from 'better-sqlite3';
import type { CreditPricer } from '../../../ledger/journal/charges/credit-pricer.ts';
import type { Curves } from '../../history/curves.ts';
import type { PeriodFacts } from '../period-facts.ts';
import type { TenantSettings } from '../tenant-settings.ts';

/** What the rules need from the ledger. */
export interface JudgeSources {
  connection: Database.Database;
  settings: TenantSettings;
  factsOf: (periodKey: number) => PeriodFacts;
  tenantId: (tenantKey: number) => string;
  curves: Curves;
  nowMs: number;
  /** Absent where nothing has a price. */
  priceOf: CreditPricer | null;
  /** Entries of the run that is looked at have ids above this. */
  lastEntryIdBefore: number;
}
