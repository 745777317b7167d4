import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/commands.md', ROOT), 'utf8');

test('the page of the commands shows the help of each as it is', () => {
  const script = fileURLToPath(new URL('scripts/command-reference.mjs', ROOT));
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

test('its table names each command', () => {
  const table = text.slice(0, text.indexOf('## What all of them share'));
  const names = [...text.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(table, name).toMatch(new RegExp(`\`${name}[ \`]`));
});
