import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import type { Fault } from '../../../../src/ledger/audit/verify/fault.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { chargePeriod } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { addRowDigest } from '../../../../src/ledger/store/file/row-digest.ts';
import { migrateLedger } from '../../../../src/ledger/store/schema/migrate.ts';
import { exportFile } from '../../../../src/ledger/transfer/moving/export-file.ts';
import { type ImportedWorkspace, importWorkspace } from '../../../../src/ledger/transfer/moving/import-workspace.ts';
import { sealWorkspace } from '../../../../src/ledger/transfer/moving/seal-workspace.ts';
import type { Step } from '../../model/steps.ts';

export type Row = Record<string, unknown>;

/** Columns that say where in which ledger a row lies; all others must be the same after a move. */
const OF_THE_LEDGER = ['entry_id', 'event_seq', 'previous_digest', 'digest'];

/** An empty ledger in memory, with an id of its own. */
export function freshLedger(): Database.Database {
  const connection = new Database(':memory:');
  connection.pragma('foreign_keys = ON');
  addRowDigest(connection);
  migrateLedger(connection, ':memory:', '0.0.0', 0);
  connection.prepare("UPDATE ledger_meta SET value = ? WHERE name = 'ledger_id'").run(randomUUID());
  return connection;
}

const given = { by: 'Ada', price: chargePeriod, checks: [checkMoney] };

/** Closes the workspace to the ledger and writes the file that `workspace export` would write of it. */
export async function exported(
  connection: Database.Database,
  folder: string,
  nowMs: number,
  workspaceId = 'ws-1',
): Promise<string> {
  sealWorkspace(connection, { workspaceId, by: 'Ada', nowMs });
  const ledgerPath = join(folder, `${randomUUID()}.db`);
  const target = join(folder, `${randomUUID()}.export`);
  connection.prepare('VACUUM INTO ?').run(ledgerPath);
  const { signal } = new AbortController();
  await exportFile({ ...given, workspaceId, ledgerPath, target, force: false, nowMs, version: '0.0.0', signal });
  return target;
}

export function bringIn(connection: Database.Database, file: string, nowMs: number): ImportedWorkspace {
  return importWorkspace({ connection, file, nowMs, ...given });
}

export function faultsOf(connection: Database.Database): Fault[] {
  return verifyLedger(connection, [checkMoney]).faults;
}

/** The entries that an alert was told with are named by their place in the ledger that told it. */
const ENTRY_IN_FIGURES = /(entry_id[\\"]+:)\d+/g;
/** Ids that are drawn by chance; a silence of all workspaces goes along under an id with one more number. */
const BY_CHANCE = /\b(run_\w+_|silence_)[0-9a-f]{8,12}(_\d+)?/g;

/** What each view says of one workspace, sorted; `blind` to ids that two ledgers with one history draw apart. */
export function viewsOf(connection: Database.Database, workspaceId: string, blind = false): Record<string, string[]> {
  const names = connection
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'view' AND name LIKE 'finance\\_%' ESCAPE '\\' ORDER BY name")
    .pluck()
    .all() as string[];
  return Object.fromEntries(
    names.map((name) => {
      const rows = connection.prepare(`SELECT * FROM ${name} WHERE workspace_id = ?`).safeIntegers().all(workspaceId);
      const lines = (rows as Row[]).map((row) => {
        const line = JSON.stringify(
          Object.entries(row).filter(([column]) => !OF_THE_LEDGER.includes(column)),
          plain,
        ).replaceAll(ENTRY_IN_FIGURES, '$1');
        return blind ? line.replaceAll(BY_CHANCE, '$1') : line;
      });
      return [name, lines.sort()];
    }),
  );
}

/** What the workspace's closes have committed to, with their salts, in their order. */
export function rootsOf(connection: Database.Database, workspaceId: string): unknown[] {
  return connection
    .prepare(
      `SELECT p.period, c.leaves, c.root, c.salt FROM close_commitments c JOIN period_events e USING (event_seq)
       JOIN periods p USING (period_key) JOIN workspaces w ON w.workspace_key = e.workspace_key
       WHERE w.workspace_id = ? ORDER BY c.event_seq`,
    )
    .raw()
    .all(workspaceId);
}

/** A run that sleeps holds its workspace, and nothing is exported meanwhile. */
export function awake(step: Step): Step {
  return step.do === 'run' ? { ...step, sleeps: false } : step;
}

/** The cards in force, as the configuration of both hosts would say them. */
export function cardsOf(connection: Database.Database): RateCardText[] {
  const texts = connection
    .prepare('SELECT definition FROM rate_cards WHERE retired_after_seq IS NULL ORDER BY card_key')
    .pluck()
    .all() as string[];
  return texts.map((text) => JSON.parse(text) as RateCardText);
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}
