import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/commands.md', ROOT), 'utf8');

test('the table of the commands names each command', () => {
  const table = text.slice(0, text.indexOf('## Shared behaviour'));
  const names = [...text.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(table, name).toMatch(new RegExp(`\`${name}[ \`]`));
});
