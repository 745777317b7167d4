import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);

test('whoever looks for a place to change finds the files that CONTRIBUTING.md names', () => {
  const text = readFileSync(new URL('CONTRIBUTING.md', ROOT), 'utf8');
  const paths = [...text.matchAll(/`((?:bench|deploy|docs|drizzle|schemas|scripts|src|test)\/[^`]*)`/g)];
  const names = paths.map(([, path = '']) => path);
  expect(names.length).toBeGreaterThan(25);
  expect(names.filter((name) => !existsSync(new URL(name, ROOT)))).toEqual([]);
});
