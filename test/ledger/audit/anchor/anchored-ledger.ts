import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import {
  CheckpointLog,
  checkpointKeyPath,
  readCheckpointPublicKey,
} from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { digestOfRun, type RunDigestContent } from '../../../../src/ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { ledgerId } from '../../../../src/ledger/store/schema/identity.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import type { Applied } from '../../../support/sandbox-fixture.ts';
import { NOON } from '../../../support/time/test-clock.ts';

/** A ledger of three runs, each of which has left its checkpoint. */
export async function anchoredLedger() {
  const { connection, path } = openLedger();
  const id = ledgerId(connection);
  const log = new CheckpointLog(path, { keyFile: checkpointKeyPath(path), ledgerId: id });
  const heads: Applied[] = [];
  for (const [index, credits] of [5, 6, 7].entries()) {
    const run = await publish(connection, [usageRecord('acme', credits)], { nowMs: NOON + index * 60_000 });
    expect(log.note({ seq: run.appliedSeq, digest: run.digest, at: '2026-03-20T12:00:00.000Z' })).toBeNull();
    heads.push(run);
  }
  return { connection, path, id, heads };
}

/** The lines of the log beside a ledger. */
export function linesOf(path: string): string[] {
  return readFileSync(join(dirname(path), 'checkpoints.log'), 'utf8')
    .trimEnd()
    .split('\n');
}

export function ownKey(path: string) {
  const key = readCheckpointPublicKey(checkpointKeyPath(path));
  if (key === null) throw new Error('the ledger has no key');
  return key;
}

/** Makes the last run say 9 credits, with all that follows from it. */
export function rewriteLast(connection: LedgerDb): void {
  pastGuards(
    connection,
    `UPDATE usage_entries SET credits_delta = credits_delta + 2, credits_after = 9
       WHERE entry_id = (SELECT max(entry_id) FROM usage_entries);
     UPDATE tenant_usage SET credits_used = 9;
     UPDATE periods SET figures_digest = NULL`,
  );
  const last = connection
    .prepare(
      `SELECT run_key AS runKey, previous_digest AS previousDigest, applied_seq AS appliedSeq, run_id AS runId,
         workspace_id AS workspaceId, finished_at AS finishedAt, first_entry_id AS firstEntryId, entries, kind, slot,
         from_period AS fromPeriod, to_period AS toPeriod, fencing_token AS fencingToken, 0 AS changesAfter,
         last_change_seq AS lastChangeSeq
       FROM runs JOIN workspaces USING (workspace_key) ORDER BY applied_seq DESC LIMIT 1`,
    )
    .get() as RunDigestContent;
  const forged = digestOfRun(connection, last);
  pastGuards(connection, `UPDATE runs SET digest = '${forged}' WHERE run_key = ${last.runKey}`);
}

/** Takes the last run out, with all that it has brought. */
export function cutOffLast(connection: LedgerDb): void {
  pastGuards(
    connection,
    `DELETE FROM usage_entries WHERE run_key = (SELECT max(run_key) FROM runs);
     UPDATE tenant_usage SET credits_used = 6, changed_run_key = 2;
     UPDATE periods SET figures_digest = NULL, covered_run_key = 2;
     DELETE FROM walks WHERE run_key = 3;
     DELETE FROM leases;
     DELETE FROM runs WHERE run_key = 3`,
  );
}

export function pastGuards(connection: LedgerDb, sql: string): void {
  const triggers = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) connection.exec(`DROP TRIGGER ${name}`);
  connection.exec(sql);
  for (const trigger of triggers) connection.exec(trigger.sql);
}
