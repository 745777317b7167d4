import { expect, test } from 'vitest';
import { formatPath, valueAt } from '../../../src/core/text/path.ts';

test.each([
  [['workspaces', 0, 'signing', 'payload'], 'workspaces[0].signing.payload'],
  [['rates', 'a b', 'price'], 'rates["a b"].price'],
  [[], ''],
])('%j is written as %s', (path, text) => {
  expect(formatPath(path)).toBe(text);
});

test('valueAt returns the value at a path, and undefined below a scalar, a gap or nothing', () => {
  const document = { workspaces: [{ id: 'ws-1', signing: null }] };
  expect(valueAt(document, ['workspaces', 0, 'id'])).toBe('ws-1');
  expect(valueAt(document, [])).toBe(document);
  for (const path of [
    ['workspaces', 0, 'id', 'length'],
    ['workspaces', 0, 'signing', 'payload'],
    ['workspaces', 1, 'id'],
  ])
    expect(valueAt(document, path)).toBeUndefined();
});
