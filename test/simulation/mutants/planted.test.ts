import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PLANTED, plant } from './planted/all.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('each defect can be planted: what it replaces stands once in its file, and each has a name of its own', () => {
  for (const planted of PLANTED) expect(plant(planted, root)).toContain(planted.defect[2]);
  expect(new Set(PLANTED.map(({ name }) => name)).size).toBe(PLANTED.length);
});
