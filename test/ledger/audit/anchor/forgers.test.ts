import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createCheckpointsCheck } from '../../../../src/ledger/audit/anchor/check-anchors.ts';
import { CheckpointLog, checkpointKeyPath } from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import { recordReconciliation } from '../../../../src/ledger/journal/close/record-reconciliation.ts';
import { retireWorkspace } from '../../../../src/ledger/journal/retire-workspace.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { dropTriggers, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';
import { anchoredLedger, cutOffLast, linesOf, ownKey, pastGuards, rewriteLast } from './anchored-ledger.ts';

type Ledger = Awaited<ReturnType<typeof anchoredLedger>>;

/** A row of docs/trust.md that a forger of the file can try: what is done, and what finds it. */
interface Forgery {
  does: string;
  forge: (ledger: Ledger) => void | Promise<void>;
  /** `verify` by itself; checkpoints that were kept elsewhere; or nothing that looks at the file alone. */
  foundBy: 'verify' | 'checkpoints' | 'nothing';
}

const SILENCE = `INSERT INTO silences (silence_id, kind, workspace_key, rule, tenant, period, until, reason, created_by, created_at)
  VALUES ('sil_forged', 'silence', 1, '*', '*', '*', '2030-01-01', 'quiet', 'nobody', '2026-03-20T12:00:00.000Z')`;

const FORGERIES: Forgery[] = [
  { does: 'changes a figure', forge: sql('UPDATE tenant_usage SET credits_used = 9'), foundBy: 'verify' },
  {
    does: 'changes a figure and the entry that it comes from',
    forge: sql(`UPDATE usage_entries SET credits_after = 9 WHERE entry_id = 3;
      UPDATE usage_entries SET credits_delta = 3 WHERE entry_id = 3; UPDATE tenant_usage SET credits_used = 9`),
    foundBy: 'verify',
  },
  {
    does: 'takes a run out of the middle of the chain',
    forge: sql(
      'DELETE FROM usage_entries WHERE run_key = 2; DELETE FROM walks WHERE run_key = 2; DELETE FROM runs WHERE run_key = 2',
    ),
    foundBy: 'verify',
  },
  {
    does: 'changes a figure, its entry and every digest behind it',
    forge: ({ connection }) => rewriteLast(connection),
    foundBy: 'checkpoints',
  },
  { does: 'cuts the last runs off', forge: ({ connection }) => cutOffLast(connection), foundBy: 'checkpoints' },
  {
    does: 'rewrites the digests, and signs new checkpoints with the key of the host',
    forge: ({ connection, path, id }) => {
      rewriteLast(connection);
      rmSync(join(dirname(path), 'checkpoints.log'));
      const log = new CheckpointLog(path, { keyFile: checkpointKeyPath(path), ledgerId: id });
      const digest = connection.prepare('SELECT digest FROM runs ORDER BY applied_seq DESC LIMIT 1').pluck().get();
      expect(log.note({ seq: 3, digest: String(digest), at: '2026-03-20T12:00:00.000Z' })).toBeNull();
      expect(verifyLedger(connection, [createCheckpointsCheck(linesOf(path), ownKey(path))]).faults).toEqual([]);
    },
    foundBy: 'checkpoints',
  },
  { does: 'adds a silence past the triggers', forge: sql(SILENCE), foundBy: 'verify' },
  { does: 'takes the triggers away', forge: ({ connection }) => dropTriggers(connection), foundBy: 'verify' },
  {
    does: 'rewrites a view',
    forge: sql('DROP VIEW finance_usage; CREATE VIEW finance_usage AS SELECT * FROM tenant_usage'),
    foundBy: 'verify',
  },
  {
    does: 'adds a silence with the function of the triggers at hand',
    // The ledger's own connection has it; with another program it is one line.
    forge: ({ connection }) => void connection.exec(SILENCE),
    foundBy: 'nothing',
  },
  {
    does: 'ends an alert with that function, without a transition',
    forge: ({ connection }) => {
      connection.exec(ALERT);
      expect(verifyLedger(connection).faults).toEqual([]);
      connection.exec("UPDATE alerts SET state = 'resolved'");
    },
    foundBy: 'verify',
  },
  {
    does: 'changes what the last run has made of an alert, and in its place the row change',
    forge: async ({ connection }) => {
      await runWithAlert(connection);
      expect(verifyLedger(connection).faults).toEqual([]);
      inPlace(connection, "UPDATE alert_transitions SET actor = 'Ada'");
    },
    foundBy: 'verify',
  },
  {
    does: 'changes who has ended a workspace, with a row change that fits',
    forge: ({ connection }) => {
      endFirst(connection);
      withoutTrigger(connection, 'acts_no_update', "UPDATE acts SET actor = 'Bob'");
    },
    foundBy: 'verify',
  },
  {
    does: 'changes what a reconciliation has found, with a row change that fits',
    forge: ({ connection }) => {
      reconcileFirst(connection);
      withoutTrigger(connection, 'reconciliations_no_update', 'UPDATE reconciliations SET different = 0');
    },
    foundBy: 'verify',
  },
  {
    does: 'adds the number of an invoice, with a row change that fits',
    forge: ({ connection }) => {
      reconcileFirst(connection);
      connection.exec(
        `INSERT INTO invoice_numbers SELECT act_seq, tenant_key, 'USD', period_key, close_seq, 'R-2' FROM invoice_numbers`,
      );
    },
    foundBy: 'verify',
  },
  {
    does: 'has a workspace read that was ended',
    forge: ({ connection }) => {
      endFirst(connection);
      connection.exec('UPDATE workspaces SET ended_seq = NULL');
    },
    foundBy: 'verify',
  },
];

function endFirst(connection: LedgerDb): void {
  const end = { workspaceId: 'ws-1', by: 'Ada', note: 'it has left', elsewhere: false, nowMs: NOON + 3_600_000 };
  retireWorkspace(connection, end, () => undefined);
  expect(verifyLedger(connection).faults).toEqual([]);
}

function reconcileFirst(connection: LedgerDb): void {
  const month = { workspaceId: 'ws-1', period: '2026-03', by: 'Ada', note: '', nowMs: NOON + 3_600_000 };
  const terms = { ...month, force: true, settleHours: 0, maxChange: null };
  const { digest: closeDigest } = closePeriod(connection, terms, commitClose);
  recordReconciliation(connection, {
    ...month,
    closeDigest,
    file: { name: 'invoices.csv', sha256: 'ab'.repeat(32) },
    counts: { matched: 0, missing: 0, extra: 0, different: 1 },
    tolerance: '0',
    amounts: [],
    numbers: [{ tenantId: 'acme', currency: 'EUR', number: 'R-1' }],
  });
  expect(verifyLedger(connection).faults).toEqual([]);
}

/** A loss of credits, which a rule finds. */
async function runWithAlert(connection: LedgerDb): Promise<void> {
  for (const [index, credits] of [900_000, 9].entries()) {
    await publish(connection, [usageRecord('acme', credits)], { nowMs: NOON + (index + 1) * 3_600_000 });
  }
  expect(connection.prepare('SELECT count(*) FROM alert_transitions').pluck().get()).toBeGreaterThan(0);
}

/** Changes guarded rows as if their last row changes had always said so. */
function inPlace(connection: LedgerDb, change: string): void {
  const last = Number(connection.prepare('SELECT max(change_seq) FROM row_changes').pluck().get());
  withoutTrigger(connection, 'alert_transitions_no_update', change);
  pastGuards(
    connection,
    `UPDATE row_changes AS old SET row_digest = new.row_digest
       FROM (SELECT * FROM row_changes WHERE change_seq > ${last}) new
       WHERE old.change_seq <= ${last} AND old.table_name = new.table_name AND old.row_key = new.row_key;
     DELETE FROM row_changes WHERE change_seq > ${last}`,
  );
}

/** The triggers of the guards go on: the change leaves row changes that fit. */
function withoutTrigger(connection: LedgerDb, name: string, change: string): void {
  const text = connection.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name) as string;
  connection.exec(`DROP TRIGGER ${name}; ${change}; ${text}`);
}

/** One that fires, with its transition. */
const ALERT = `INSERT INTO alerts (alert_id, rule, rule_version, workspace_key, level, severity, state, last_changed_at, revision)
    VALUES ('al_1', 'sync_stale', 1, 1, 'happened', 'critical', 'firing', '2026-03-20T12:00:00.000Z', 1);
  INSERT INTO alert_transitions (alert_key, revision, change, state, level, actor, at, silent)
    SELECT alert_key, 1, 'fired', 'firing', 'happened', 'run', last_changed_at, 0 FROM alerts`;

test.each(FORGERIES)('who $does is found by: $foundBy', async ({ forge, foundBy }) => {
  const ledger = await anchoredLedger();
  const { connection, path } = ledger;
  const [kept, key] = [linesOf(path), ownKey(path)];
  expect(verifyLedger(connection, [createCheckpointsCheck(kept, key)]).faults).toEqual([]);
  await forge(ledger);
  expect(verifyLedger(connection).faults.length > 0).toBe(foundBy === 'verify');
  expect(verifyLedger(connection, [createCheckpointsCheck(kept, key)]).faults.length > 0).toBe(foundBy !== 'nothing');
});

function sql(text: string): (ledger: Ledger) => void {
  return ({ connection }) => pastGuards(connection, text);
}
