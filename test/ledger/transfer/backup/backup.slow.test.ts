import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { backupLedger } from '../../../../src/ledger/transfer/backup/backup.ts';
import { eventually } from '../../../support/eventually.ts';
import { openLedger } from '../../../support/open-ledger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const WRITER = fileURLToPath(new URL('./backup-writer.mjs', import.meta.url));
const never = new AbortController().signal;

interface State {
  seq: number;
  digest: string | null;
  credits: number;
}

test('30 backups taken while another process applies runs are each valid and a state between two runs', async () => {
  const { path, connection } = openLedger();
  const folder = temporaryFolder();
  const writer = fork(WRITER, [path], { execArgv: [] });
  await once(writer, 'message');

  const found: State[] = [];
  const newest = (): unknown => connection.prepare('SELECT max(applied_seq) FROM runs').pluck().get();
  for (let number = 0; number < 30; number += 1) {
    const target = join(folder, `${number}.db`);
    // The writer is at work all the time, or this would prove nothing.
    await eventually(() => expect(newest()).toBeGreaterThan(found.at(-1)?.seq ?? 0));
    const { headDigest } = await backupLedger({ ledgerPath: path, target, signal: never });
    const copy = new Database(target, { readonly: true });
    const seq = copy.prepare('SELECT max(applied_seq) FROM runs').pluck().get() as number;
    const credits = copy.prepare('SELECT sum(credits_used) FROM finance_usage').pluck().get() as number;
    copy.close();
    found.push({ seq, digest: headDigest, credits });
  }
  writer.send('stop');
  const [{ states }] = (await once(writer, 'message')) as [{ states: State[] }];
  await once(writer, 'exit');

  const written = new Map(states.map((state) => [state.seq, state]));
  for (const state of found) expect(written.get(state.seq)).toEqual(state);
  expect(new Set(found.map((state) => state.digest)).size).toBe(30);
  expect(readdirSync(folder)).toHaveLength(30);
});
