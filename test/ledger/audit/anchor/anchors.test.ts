import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { expectCheckpoints, expectHead } from '../../../../src/ledger/audit/anchor/check-anchors.ts';
import { checkpointText, originOf } from '../../../../src/ledger/audit/anchor/checkpoint.ts';
import { CheckpointLog, keyFileOf } from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import {
  formatVerifier,
  parseNotes,
  parseVerifier,
  verifierOf,
} from '../../../../src/ledger/audit/anchor/signed-note.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { anchoredLedger, cutOffLast, notesOf, ownKey, rewriteLast } from './anchored-ledger.ts';

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
