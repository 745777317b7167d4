import { expect, test } from 'vitest';
import { parseYaml } from '../../src/config/reading/yaml.ts';

function faultsOf(text: string) {
  return parseYaml(text, 'f.yml').faults ?? [];
}

test('a duplicate key is a fault at its line and column', () => {
  expect(faultsOf('a: 1\nb:\n  c: 1\n  c: 2\n')).toEqual([
    { path: 'f.yml:4:3', message: 'repeats a setting', hint: 'Keep one of the two' },
  ]);
});

test.each([
  ['a: [1\n', 'f.yml:2:1'],
  ['a: 1\n\tb: 2\n', 'f.yml:2:1'],
  ['a: x: y\n', 'f.yml:1:4'],
  ['a: @x\n', 'f.yml:1:4'],
  ['a: 1\n---\nb: 2\n', 'f.yml:2:1'],
  ['? [a]\n: 1\n', 'f.yml:1:3'],
])('%j is a fault at its place', (text, path) => {
  expect(faultsOf(text).map((fault) => fault.path)).toContain(path);
});

test('tabs are one mistake, however many lines have them', () => {
  expect(faultsOf('a:\n\tb: x\nc:\n\t- d: a\n\t  e: b\n')).toEqual([
    { path: 'f.yml:2:1', message: 'is indented with a tab', hint: 'Indent this line, and all others, with spaces' },
  ]);
});

test.each([
  'k: *sk_private\n',
  'k: !sk_private\n',
  'k: "sk_private\n',
  'k: @sk_private\n',
  'k: sk_private: x\n',
  'k: "\\sk_private"\n',
])('the mistake in %j is told without the text around it', (text) => {
  expect(faultsOf(text)).not.toEqual([]);
  expect(JSON.stringify(faultsOf(text))).not.toContain('sk_private');
});

test('aliases work, but a bomb of them is refused', () => {
  expect(parseYaml('a: &x [1]\nb: *x\n', 'f.yml')).toEqual({ value: { a: [1], b: [1] } });
  let bomb = 'k0: &k0 [x, x, x, x, x, x, x, x, x]\n';
  for (let level = 1; level < 10; level++) {
    bomb += `k${level}: &k${level} [${Array(9)
      .fill(`*k${level - 1}`)
      .join(', ')}]\n`;
  }
  expect(faultsOf(bomb)).toHaveLength(1);
});

test('a key without a value counts as not given, yet is there to be checked', () => {
  const parsed = parseYaml('a:\nb: ~\nc: ""\n', 'f.yml');
  expect(parsed).toEqual({ value: { a: undefined, b: undefined, c: '' } });
  expect(Object.keys((parsed as { value: object }).value)).toEqual(['a', 'b', 'c']);
});
