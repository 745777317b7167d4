import { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { chargeLines, charges } from '../../store/schema/billing-tables.ts';
import { asc, eq, isNull } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import { findPeriod, workspaceOf } from '../../store/subjects.ts';
import type { MergedRun } from '../runs/apply-run.ts';
import { cardsInForce, hasCards, type StoredCard } from './card-store.ts';
import { ChargeWriter, type PricedKey } from './charge-writer.ts';
import { correctByRun } from './corrections.ts';

/** Keys that are read and priced at a time: bounds the memory of a first run over a million tenants. */
const KEYS_A_CHUNK = 5000;

/**
 * Prices what a run has changed, inside its transaction: the charges of periods that are not closed follow their figures,
 * and its corrections of closed periods are charged on the cards of their closes. A ledger without cards is left alone.
 */
export function chargeRun({ connection, run, lastEntryIdBefore, changed: entered }: MergedRun): void {
  if (!hasCards(connection)) return;
  const cards = cardsInForce(connection);
  const writer = new ChargeWriter(connection);
  const changed = connection
    .prepare(
      `SELECT e.period_key AS periodKey, e.tenant_key AS tenantKey, t.tenant_id AS tenantId, e.credits_after AS credits,
         e.kind = ${ENTRY_KINDS.withdrawn} AS withdrawn, e.entry_id AS position, e.kind = ${ENTRY_KINDS.opened} AS isNew
       FROM usage_entries e JOIN tenants t USING (tenant_key)
       WHERE e.entry_id > ? ORDER BY e.entry_id LIMIT ${KEYS_A_CHUNK}`,
    )
    .safeIntegers();
  const pricers = new Map<number, PeriodPricer<StoredCard>>();
  for (const periodKey of entered.keys()) {
    if (findPeriod(connection, periodKey)?.closedSeq !== null) continue;
    pricers.set(periodKey, new PeriodPricer(cards, run.workspaceId, periodOfKey(periodKey)));
  }
  eachKey(
    (after) => changed.all(after) as KeyRecord[],
    lastEntryIdBefore,
    (key) => {
      const pricer = pricers.get(key.periodKey);
      if (pricer === undefined) return;
      // A key without an entry before has no charge.
      if (!key.isNew) writer.clear(key.periodKey, key.tenantKey);
      writer.add(key, pricer);
    },
  );
  writer.flush();
  correctByRun(connection, run);
}

/** A period of a workspace, by the names that people have for them. */
export interface PricedPeriod {
  workspaceId: string;
  period: Period;
}

/** Prices all periods that are not closed anew, and gives them: the cards have changed. */
export function chargeOpenPeriods(connection: LedgerConnection): PricedPeriod[] {
  const open = query(connection).select().from(periods).where(isNull(periods.closedSeq));
  const found = open.orderBy(asc(periods.periodKey)).all();
  return found.map(({ periodKey, period }) => {
    chargePeriod(connection, periodKey);
    return { workspaceId: workspaceOf(connection, periodKey).workspaceId, period };
  });
}

/** Prices a period that is not closed anew, such as one that has been reopened. */
export function chargePeriod(connection: LedgerConnection, periodKey: number): void {
  const db = query(connection);
  db.delete(charges).where(eq(charges.periodKey, periodKey)).run();
  db.delete(chargeLines).where(eq(chargeLines.periodKey, periodKey)).run();
  const { workspaceId } = workspaceOf(connection, periodKey);
  const pricer = new PeriodPricer(cardsInForce(connection), workspaceId, periodOfKey(periodKey));
  const writer = new ChargeWriter(connection);
  const keys = connection
    .prepare(
      `SELECT u.period_key AS periodKey, u.tenant_key AS tenantKey, t.tenant_id AS tenantId, u.credits_used AS credits,
         u.withdrawn, u.tenant_key AS position, 1 AS isNew
       FROM tenant_usage u JOIN tenants t USING (tenant_key)
       WHERE u.period_key = ? AND u.tenant_key > ? ORDER BY u.tenant_key LIMIT ${KEYS_A_CHUNK}`,
    )
    .safeIntegers();
  eachKey(
    (after) => keys.all(periodKey, after) as KeyRecord[],
    0,
    (key) => writer.add(key, pricer),
  );
  writer.flush();
}

interface KeyRecord {
  periodKey: bigint;
  tenantKey: bigint;
  tenantId: string;
  credits: bigint;
  withdrawn: bigint;
  position: bigint;
  /** 1: it cannot have a charge yet. */
  isNew: bigint;
}

/** Reads in chunks, because SQLite writes nothing on a connection that is still reading a statement. */
function eachKey(
  read: (after: bigint | number) => KeyRecord[],
  from: number,
  use: (key: PricedKey & { isNew: boolean }) => void,
): void {
  let after: bigint | number = from;
  for (let records = read(after); records.length > 0; records = read(after)) {
    for (const { periodKey, tenantKey, tenantId, credits, withdrawn, isNew } of records) {
      const key = { periodKey: Number(periodKey), tenantKey: Number(tenantKey) };
      use({ ...key, tenantId, credits, withdrawn: withdrawn !== 0n, isNew: isNew === 1n });
    }
    after = records.at(-1)?.position ?? after;
  }
}
