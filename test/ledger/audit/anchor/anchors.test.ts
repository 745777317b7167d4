import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createCheckpointsCheck, createHeadCheck } from '../../../../src/ledger/audit/anchor/check-anchors.ts';
import {
  CheckpointLog,
  checkpointKeyPath,
  formatPublicKey,
  isSignedBy,
  parseCheckpoint,
  parsePublicKey,
  splitCheckpointFile,
} from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { anchoredLedger, linesOf, ownKey, rewriteLast } from './anchored-ledger.ts';

test('each line is JSON signed up to its signature, checked here without the program', async () => {
  const { path, id, heads } = await anchoredLedger();
  const key = createPublicKey(readFileSync(checkpointKeyPath(path), 'utf8'));
  const lines = linesOf(path);
  expect(lines).toHaveLength(3);
  for (const [at, line] of lines.entries()) {
    const { ledger, seq, digest, at: time, signature } = JSON.parse(line);
    const signed = line.slice(0, line.indexOf(',"signature":'));
    expect(verify(null, Buffer.from(signed), key, Buffer.from(signature, 'base64'))).toBe(true);
    const head = heads[at];
    expect([ledger, seq, digest, time]).toEqual([id, head?.appliedSeq, head?.digest, '2026-03-20T12:00:00.000Z']);
  }
  for (const secret of [checkpointKeyPath(path), join(dirname(path), 'checkpoints.log')]) {
    expect(statSync(secret).mode & 0o077).toBe(0);
  }
});

test('a valid ledger agrees with every checkpoint and every earlier head digest', async () => {
  const { connection, path, heads } = await anchoredLedger();
  const checks = [
    createCheckpointsCheck(linesOf(path), ownKey(path)),
    ...heads.map(({ digest }) => createHeadCheck(digest)),
  ];
  expect(verifyLedger(connection, checks).faults).toEqual([]);
});

test('a history with rewritten digests is consistent in itself, but head and checkpoint reveal it', async () => {
  const { connection, path, heads } = await anchoredLedger();
  rewriteLast(connection);
  const anchors = linesOf(path);

  expect(verifyLedger(connection).faults).toEqual([]);
  const last = heads.at(-1);
  expect(verifyLedger(connection, [createHeadCheck(last?.digest ?? '')]).faults).toMatchObject([{ check: 'anchor' }]);
  expect(verifyLedger(connection, [createCheckpointsCheck(anchors, ownKey(path))]).faults).toMatchObject([
    { check: 'anchor', message: expect.stringContaining(`link ${last?.appliedSeq} `) },
  ]);
});

test('checkpoints of another ledger, and those signed with another key, are distinguished', async () => {
  const one = await anchoredLedger();
  const other = await anchoredLedger();
  const forged = new CheckpointLog(one.path, { keyFile: checkpointKeyPath(other.path), ledgerId: one.id });
  const [head] = one.heads;
  writeFileSync(join(dirname(one.path), 'checkpoints.log'), '');
  expect(forged.note({ seq: 1, digest: head?.digest ?? '', at: 'now' })).toBeNull();

  const says = (path: string) =>
    verifyLedger(one.connection, [createCheckpointsCheck(linesOf(path), ownKey(one.path))]).faults[0]?.message;
  expect(says(one.path)).toContain('is not signed by');
  expect(says(other.path)).toContain(`belongs to another ledger, ${other.id}`);
});

test('changing any character of a line breaks its signature or its format', async () => {
  const { path } = await anchoredLedger();
  const [line = ''] = linesOf(path);
  for (let at = 0; at < line.length; at += 1) {
    const other = line[at] === '1' ? '2' : '1';
    const changed = line.slice(0, at) + other + line.slice(at + 1);
    const checkpoint = parseCheckpoint(changed);
    expect(checkpoint !== null && isSignedBy(checkpoint, ownKey(path)), changed).toBe(false);
  }
  expect(parseCheckpoint(line.replace('{', '{ '))).toBeNull();
  expect(parseCheckpoint(line.replace(',"signature"', ',"more":1,"signature"'))).toBeNull();
});

test('a formatted key is parsed back, and any other text or kind is rejected', async () => {
  const { path } = await anchoredLedger();
  const text = formatPublicKey(ownKey(path));
  const pem = `-----BEGIN PUBLIC KEY-----\n${text}\n-----END PUBLIC KEY-----\n`;
  expect(createPublicKey(pem).equals(ownKey(path))).toBe(true);
  expect(parsePublicKey(text)?.equals(ownKey(path))).toBe(true);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (const other of ['nothing', '', `${text} `, text.slice(1), formatPublicKey(publicKey)])
    expect(parsePublicKey(other)).toBeNull();
});

test('a line that is not a checkpoint is a fault, a file without any is not accepted, and an unwritable log does no harm', async () => {
  const { connection, path, id } = await anchoredLedger();
  const [line = ''] = linesOf(path);
  expect(splitCheckpointFile(`${line}\n\nsomething else`)).toEqual([line, 'something else']);
  expect(splitCheckpointFile('something else')).toBeNull();
  expect(verifyLedger(connection, [createCheckpointsCheck([line, 'something else'], null)]).faults).toMatchObject([
    { check: 'anchor', message: 'the line starting with "something else" is not a checkpoint' },
  ]);
  const nowhere = new CheckpointLog(join(dirname(path), 'missing', 'ledger.db'), {
    keyFile: '/nowhere/key',
    ledgerId: id,
  });
  expect(nowhere.note({ seq: 1, digest: '00'.repeat(32), at: 'now' })).toContain('ENOENT');
});
