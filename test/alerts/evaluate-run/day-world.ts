import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { simulateDelivery } from '../../../src/alerts/outbox/accept-all.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import type { AlertSettings, WorkspaceConfig } from '../../../src/config/types.ts';
import { periodAt } from '../../../src/core/period.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import type { Answer } from '../../long/alert-year/reader/truth.ts';
import { type Message, notifications } from '../../support/messages.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { listingOf } from '../../support/run/listing.ts';
import { notifying, realRun, writerOn } from '../../support/run/real-run.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

/** A service that posts what tenants use, and the runs that read it, whatever the hour. */
export interface DayWorld {
  connection: LedgerDb;
  /** What the service says from now on: credits that a tenant has used more, in the month of a moment. */
  post(tenantId: string, atMs: number, credits: number): void;
  /** What it says of a tenant's month, whatever it said before. */
  state(tenantId: string, period: string, credits: bigint): void;
  read(nowMs: number): Promise<void>;
  rows(sql: string): unknown[];
  /** `RULE STAGE TYPE TENANT` of all that was told, a line each. */
  told(): string[];
  summaries(rule: string): string[];
  notifications(): Message[];
  /** What the service had answered by each run. */
  answers: Answer[];
  /** All of it as it is now, to begin others with. */
  image(): DayImage;
}

interface Figure {
  tenantId: string;
  period: string;
  credits: bigint;
  requests: number;
}

export interface DayImage {
  ledger: Buffer;
  figures: readonly Figure[];
}

export function dayWorld(
  alerts: Partial<AlertSettings> = {},
  settings: Partial<WorkspaceConfig> = {},
  from?: DayImage,
): DayWorld {
  const { connection } = openLedger(from && fileOf(from));
  const writer = writerOn(connection);
  const figures = new Map(
    from?.figures.map((figure) => [`${figure.tenantId} ${figure.period}`, structuredClone(figure)]),
  );
  const recordOf = (tenantId: string, period: string) => {
    const key = `${tenantId} ${period}`;
    const known = figures.get(key) ?? { tenantId, period, credits: 0n, requests: 10 };
    figures.set(key, known);
    return known;
  };
  const answers: Answer[] = [];
  const rows = (sql: string) => connection.prepare(sql).pluck().all();
  const workspace = { id: 'ws-1', lookbackPeriods: 1, alerts: { ...DEFAULT_ALERT_RULES, tenants: [], ...alerts } };
  return {
    connection,
    rows,
    answers,
    post: (tenantId, atMs, credits) => {
      recordOf(tenantId, periodAt(atMs)).credits += BigInt(credits);
    },
    state: (tenantId, period, credits) => {
      recordOf(tenantId, period).credits = credits;
    },
    async read(nowMs) {
      const records = [...figures.values()];
      const source = listingOf('ws-1', records, 1_000);
      const from = records.map(({ period }) => period).sort()[0] ?? periodAt(nowMs);
      answers.push({
        atMs: nowMs,
        from,
        records: records.map((record) => ({ ...record, credits: Number(record.credits) })),
      });
      await realRun({ writer, source, now: () => nowMs, workspace: { ...workspace, ...settings } });
      simulateDelivery(connection, notifying(connection, nowMs));
    },
    told: () =>
      notifications(connection).map(({ payload: { rule, level, type, tenant_id } }) => {
        return `${rule} ${level} ${type.slice('alert.'.length)} ${tenant_id ?? '*'}`;
      }),
    summaries: (rule) =>
      notifications(connection).flatMap(({ payload }) => (payload.rule === rule ? [payload.summary] : [])),
    notifications: () => notifications(connection),
    image: () => ({ ledger: connection.serialize(), figures: structuredClone([...figures.values()]) }),
  };
}

function fileOf({ ledger }: DayImage): string {
  const path = join(temporaryFolder(), 'ledger.db');
  writeFileSync(path, ledger);
  return path;
}
