import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { expectCheckpoints, expectHead } from '../../../../src/ledger/audit/anchor/check-anchors.ts';
import { checkpointText, originOf } from '../../../../src/ledger/audit/anchor/checkpoint.ts';
import { CheckpointLog, keyFileOf, ownVerifier } from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import {
  formatVerifier,
  parseNotes,
  parseVerifier,
  verifierOf,
} from '../../../../src/ledger/audit/anchor/signed-note.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { type DigestedRun, digestOfRun } from '../../../../src/ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../../src/ledger/store/schema/identity.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import type { Applied } from '../../../support/sandbox-fixture.ts';
import { NOON } from '../../../support/time/test-clock.ts';

test('a checkpoint is a signed note, as its specification says it, checked here without the program', async () => {
  const { path, id } = await anchoredLedger();
  const file = readFileSync(join(dirname(path), 'checkpoints.log'), 'utf8');
  const [note = ''] = file.split('\n\n— ');
  const [, name = '', base64 = ''] = /\n\n— (\S+) (\S+)\n/.exec(file) ?? [];
  const text = `${note}\n`;
  const bytes = Buffer.from(base64, 'base64');
  const pem = readFileSync(keyFileOf(path), 'utf8');
  const raw = Buffer.from(createPublicKey(pem).export({ format: 'jwk' }).x ?? '', 'base64url');

  expect(name).toBe(`usage-ledger/${id}`);
  const keyId = createHash('sha256')
    .update(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(1), raw]))
    .digest();
  expect(bytes.subarray(0, 4)).toEqual(keyId.subarray(0, 4));
  expect(verify(null, Buffer.from(text), createPublicKey(pem), bytes.subarray(4))).toBe(true);
  expect(text.split('\n').slice(0, 2)).toEqual([`usage-ledger/${id}`, '1']);
  for (const secret of [keyFileOf(path), join(dirname(path), 'checkpoints.log')]) {
    expect(statSync(secret).mode & 0o077).toBe(0);
  }
});

test('a sound ledger agrees with every checkpoint and every digest that was once its head', async () => {
  const { connection, path, heads } = await anchoredLedger();
  const checks = [
    expectCheckpoints(notesOf(path), ownKey(connection, path)),
    ...heads.map(({ digest }) => expectHead(digest)),
  ];
  expect(verifyLedger(connection, checks).faults).toEqual([]);
});

test('a history whose digests were rewritten too is sound by itself, and found by head and by checkpoint', async () => {
  const { connection, path, heads } = await anchoredLedger();
  rewriteLast(connection);
  const anchors = notesOf(path);

  expect(verifyLedger(connection).faults).toEqual([]);
  const last = heads.at(-1);
  expect(verifyLedger(connection, [expectHead(last?.digest ?? '')]).faults).toMatchObject([{ check: 'anchor' }]);
  expect(verifyLedger(connection, [expectCheckpoints(anchors, ownKey(connection, path))]).faults).toMatchObject([
    { check: 'anchor', message: expect.stringContaining(`link ${last?.appliedSeq} `) },
  ]);
});

test('a chain that was cut off is found by a checkpoint of the part that is gone', async () => {
  const { connection, path } = await anchoredLedger();
  cutOffLast(connection);

  expect(verifyLedger(connection).faults).toEqual([]);
  expect(verifyLedger(connection, [expectCheckpoints(notesOf(path), null)]).faults).toMatchObject([
    { check: 'anchor', message: expect.stringContaining('links were cut off') },
  ]);
});

test('checkpoints of another ledger, and those that somebody else has signed, are told apart', async () => {
  const one = await anchoredLedger();
  const other = await anchoredLedger();
  const forged = new CheckpointLog(one.path, { keyFile: keyFileOf(other.path), ledgerId: one.id });
  const [head] = one.heads;
  writeFileSync(join(dirname(one.path), 'checkpoints.log'), '');
  expect(forged.note({ seq: 1, digest: head?.digest ?? '', at: 'now' })).toBeNull();

  const says = (path: string) =>
    verifyLedger(one.connection, [expectCheckpoints(notesOf(path), ownKey(one.connection, one.path))]).faults[0]
      ?.message;
  expect(says(one.path)).toContain('is not signed by');
  expect(says(other.path)).toContain(`is of another ledger, ${other.id}`);
});

test('a key in its text form is read back, and refused when a letter of it differs', async () => {
  const { connection, path } = await anchoredLedger();
  const text = formatVerifier(ownKey(connection, path));
  const read = parseVerifier(text);
  expect(read === null ? '' : formatVerifier(read)).toBe(text);
  expect(parseVerifier(text.replace('usage-ledger/', 'usage-ledger/x'))).toBeNull();
  expect(parseVerifier('nothing')).toBeNull();
});

test('what is no note makes the whole file unreadable, and a log that cannot be written hurts nobody', async () => {
  const { path, id } = await anchoredLedger();
  const file = readFileSync(join(dirname(path), 'checkpoints.log'), 'utf8');
  expect(parseNotes(file)).toHaveLength(3);
  expect(parseNotes(`${file}something else`)).toBeNull();
  const nowhere = new CheckpointLog(join(dirname(path), 'missing', 'ledger.db'), {
    keyFile: '/nowhere/key',
    ledgerId: id,
  });
  expect(nowhere.note({ seq: 1, digest: '00'.repeat(32), at: 'now' })).toContain('ENOENT');
});

test('a text says origin, position, digest and time, a line each', async () => {
  const text = checkpointText({ ledgerId: 'abc', seq: 7, digest: 'ff'.repeat(32), at: '2026-03-20T12:00:00.000Z' });
  const digest = `${'/'.repeat(42)}8=`;
  expect(text).toBe(`usage-ledger/abc\n7\n${digest}\ntime 2026-03-20T12:00:00.000Z\n`);
  expect(verifierOf(originOf('abc'), createPublicKey(PUBLIC_PEM)).keyHash).toHaveLength(4);
});

/** The public key of RFC 8032's first test. */
const PUBLIC_PEM = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----`;

/** A ledger of three runs, each of which has left its checkpoint. */
async function anchoredLedger() {
  const { connection, path } = openLedger();
  const id = ledgerId(connection);
  const log = new CheckpointLog(path, { keyFile: keyFileOf(path), ledgerId: id });
  const heads: Applied[] = [];
  for (const [index, credits] of [5, 6, 7].entries()) {
    const run = await publish(connection, [usageRecord('acme', credits)], { nowMs: NOON + index * 60_000 });
    expect(log.note({ seq: run.appliedSeq, digest: run.digest, at: '2026-03-20T12:00:00.000Z' })).toBeNull();
    heads.push(run);
  }
  return { connection, path, id, heads };
}

function notesOf(path: string) {
  return parseNotes(readFileSync(join(dirname(path), 'checkpoints.log'), 'utf8')) ?? [];
}

function ownKey(connection: LedgerConnection, path: string) {
  const key = ownVerifier(keyFileOf(path), ledgerId(connection));
  if (key === null) throw new Error('the ledger has no key');
  return key;
}

/** Makes the last run say 9 credits, with all that follows from it. */
function rewriteLast(connection: LedgerConnection): void {
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
    .get() as DigestedRun;
  const forged = digestOfRun(connection, last);
  pastGuards(connection, `UPDATE runs SET digest = '${forged}' WHERE run_key = ${last.runKey}`);
}

/** Takes the last run out, with all that it has brought. */
function cutOffLast(connection: LedgerConnection): void {
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

function pastGuards(connection: LedgerConnection, sql: string): void {
  const triggers = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) connection.exec(`DROP TRIGGER ${name}`);
  connection.exec(sql);
  for (const trigger of triggers) connection.exec(trigger.sql);
}
