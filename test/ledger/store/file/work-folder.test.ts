import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { removeAbandonedFolders, withWorkFolder } from '../../../../src/ledger/store/file/work-folder.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const MODULE = new URL('../../../../src/ledger/store/file/work-folder.ts', import.meta.url);

test('a work folder is deleted when the work is done, and when it fails', async () => {
  const parent = temporaryFolder();
  const prefix = join(parent, 'ledger.db.exporting-');
  const said = await withWorkFolder(prefix, async (folder) => {
    writeFileSync(join(folder, 'whole.db'), 'x');
    return basename(folder);
  });
  expect(said).toMatch(/^ledger\.db\.exporting-.{6}$/);
  await expect(withWorkFolder(prefix, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(readdirSync(parent)).toEqual([]);
});

test('the leftovers of a killed process are removed by the next one, those of a living one are not', async () => {
  const parent = temporaryFolder();
  const prefix = join(parent, 'ledger.db.exporting-');
  const living = await occupy(prefix);
  const killed = await occupy(prefix);
  expect(readdirSync(parent)).toHaveLength(2);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  await withWorkFolder(prefix, async (folder) => {
    expect(readdirSync(parent).sort()).toEqual([living.name, basename(folder)].sort());
  });
  living.child.kill('SIGKILL');
  await once(living.child, 'exit');
  removeAbandonedFolders(prefix);
  expect(readdirSync(parent)).toEqual([]);
});

test('folders with other names are not touched', () => {
  const parent = temporaryFolder();
  const names = ['ledger.db', 'ledger.db.exporting-notes-of-mine', 'ledger.db.exporting-AbC12'];
  for (const name of names) mkdirSync(join(parent, name));
  writeFileSync(join(parent, 'ledger.db.exporting-AbC123'), 'a file');
  removeAbandonedFolders(join(parent, 'ledger.db.exporting-'));
  for (const name of [...names, 'ledger.db.exporting-AbC123']) expect(existsSync(join(parent, name))).toBe(true);
});

/** A process that uses a work folder until it is killed. */
async function occupy(prefix: string) {
  const script = `import { withWorkFolder } from ${JSON.stringify(MODULE.href)};
    await withWorkFolder(${JSON.stringify(prefix)}, async (folder) => {
      process.stdout.write(folder);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [folder] = await once(child.stdout, 'data');
  return { child, name: basename(String(folder)) };
}
