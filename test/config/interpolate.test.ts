import fc from 'fast-check';
import { expect, test } from 'vitest';
import { interpolate } from '../../src/config/reading/files.ts';

const env = { NAME: 'value', EMPTY: '', TRICK: `\${NAME}`, YAML: 'x\nadmin: true' };

function expand(text: string): unknown {
  const { value, faults } = interpolate({ key: text }, env);
  expect(faults).toEqual([]);
  return (value as { key: unknown }).key;
}

test('variables are put in wherever they stand', () => {
  expect(expand(`a-\${NAME}-b-\${NAME}`)).toBe('a-value-b-value');
  expect(interpolate({ list: [`\${NAME}`, 1, true, { deep: `\${NAME}` }] }, env).value).toEqual({
    list: ['value', 1, true, { deep: 'value' }],
  });
});

test('a default counts when the variable is unset or empty', () => {
  expect(expand(`\${NAME:-other}`)).toBe('value');
  expect(expand(`\${UNSET:-other}`)).toBe('other');
  expect(expand(`\${EMPTY:-other}`)).toBe('other');
  expect(expand(`\${UNSET:-}`)).toBe('');
  expect(expand(`\${UNSET:-redis://h:1/0}`)).toBe('redis://h:1/0');
  expect(expand(`\${EMPTY}`)).toBe('');
});

test(`$\${ is a literal \${ and a lone $ means nothing`, () => {
  expect(expand(`$\${NAME}`)).toBe(`\${NAME}`);
  expect(expand('pa$$word$')).toBe('pa$$word$');
  expect(expand('$NAME')).toBe('$NAME');
});

test('what a variable holds is neither read for variables nor for settings', () => {
  expect(expand(`\${TRICK}`)).toBe(`\${NAME}`);
  expect(expand(`\${YAML}`)).toBe('x\nadmin: true');
});

test('every unset variable is a fault at its path that names it', () => {
  const { faults } = interpolate({ a: [{ b: `\${ONE}\${TWO}` }], c: `\${THREE}` }, env);
  expect(faults.map((fault) => fault.path)).toEqual(['a[0].b', 'c']);
  expect(faults[0]?.message).toContain('ONE');
  expect(faults[0]?.message).toContain('TWO');
  expect(faults[1]?.hint).toContain('Set THREE');
});

test.each([`\${`, `sk_\${private`, `\${A B}`, `\${}`, `\${1A}`, `\${A:-\${B}}`, `\${A-b}`])(
  '%s is a fault that does not repeat the text',
  (text) => {
    const { faults } = interpolate({ key: text }, env);
    expect(faults).toHaveLength(1);
    expect(JSON.stringify(faults)).not.toContain('private');
  },
);

test(`text without \${ is never changed`, () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes(`\${`)),
      (text) => expand(text) === text,
    ),
  );
});
