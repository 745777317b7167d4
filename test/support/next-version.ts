import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const JOURNAL = 'drizzle/meta/_journal.json';

interface Journal {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

/** The journal of the migrations, from the first to the last. */
export function readJournal(): Journal {
  return JSON.parse(readFileSync(join(ROOT, JOURNAL), 'utf8')) as Journal;
}

/** This program with more migrations, in a folder of its own; returns the folder. */
export function nextVersion(...migrations: readonly string[]): string {
  const folder = temporaryFolder();
  for (const part of ['src', 'drizzle']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const journal = readJournal();
  const last = Math.max(...journal.entries.map(({ when }) => when));
  for (const [index, sql] of migrations.entries()) {
    const tag = `999${index}_next`;
    journal.entries.push({ idx: journal.entries.length, version: '6', when: last + index + 1, tag, breakpoints: true });
    writeFileSync(join(folder, `drizzle/${tag}.sql`), sql);
  }
  writeFileSync(join(folder, JOURNAL), JSON.stringify(journal));
  return folder;
}
