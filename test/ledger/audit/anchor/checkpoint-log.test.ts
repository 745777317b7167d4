import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CheckpointLog } from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const MODULE = new URL('../../../../src/ledger/audit/anchor/checkpoint-log.ts', import.meta.url).href;
const HEAD = { seq: 1, digest: '00'.repeat(32), at: '2026-03-20T12:00:00.000Z' };

test('two processes that rotate a full log at once lose none of it', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'ledger.db');
  const settings = { keyFile: join(folder, 'checkpoint.key'), ledgerId: 'one' };
  const full = `${'x'.repeat(8 * 1024 * 1024)}\n`;
  writeFileSync(join(folder, 'checkpoints.log'), full);
  const other = new CheckpointLog(path, settings);
  // The other process has had its turn between this one's first look and its own turn.
  const alone = (work: () => void): void => {
    expect(other.note(HEAD)).toBeNull();
    work();
  };
  expect(new CheckpointLog(path, { ...settings, alone }).note({ ...HEAD, seq: 2 })).toBeNull();
  expect(readFileSync(join(folder, 'checkpoints.log.1'), 'utf8')).toBe(full);
  const lines = readFileSync(join(folder, 'checkpoints.log'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2]);
});

test('a process that dies while writing the key leaves none, and the next one creates it', () => {
  const folder = temporaryFolder();
  const settings = { keyFile: join(folder, 'checkpoint.key'), ledgerId: 'one' };
  const dying = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const write = fs.writeFileSync;
    fs.writeFileSync = (file, data, options) => {
      write(file, String(data).slice(0, 40), options);
      process.kill(process.pid, 'SIGKILL');
    };
    syncBuiltinESMExports();
    const { CheckpointLog } = await import(${JSON.stringify(MODULE)});
    new CheckpointLog(${JSON.stringify(join(folder, 'ledger.db'))}, ${JSON.stringify(settings)}).note(${JSON.stringify(HEAD)});`;
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', dying]).signal).toBe('SIGKILL');
  expect(existsSync(settings.keyFile)).toBe(false);
  const log = new CheckpointLog(join(folder, 'ledger.db'), settings);
  expect(log.note(HEAD)).toBeNull();
  expect(readFileSync(settings.keyFile, 'utf8')).toMatch(
    /^-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n$/,
  );
});
