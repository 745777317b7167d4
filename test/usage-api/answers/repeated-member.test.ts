import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseUsagePage } from '../../../src/usage-api/answers/check-page.ts';
import { findRepeatedMember } from '../../../src/usage-api/answers/parse-json.ts';
import { cannotHoldDuplicates } from '../../../src/usage-api/answers/room-to-repeat.ts';
import { item, page } from '../service-double.ts';

const parse = (text: string) => parseUsagePage(new TextEncoder().encode(text), { page: 7, workspaceId: 'ws-1' });
const figure = fc.oneof(fc.nat(), fc.integer(), fc.constantFrom(0, 1000, -12_000, 5e15));
const items = fc.array(
  fc.record({ tenant_id: fc.string({ minLength: 1 }), credits_used: figure, request_count: figure }),
  { minLength: 1, maxLength: 5 },
);
/** As services write their answers: in one line, or for people to read. */
const indents = fc.constantFrom(0, 2);

it('accepts every response without a duplicate name', () => {
  fc.assert(
    fc.property(items, indents, (records, indent) => {
      const body = page(records.map((record) => item(record)));
      expect(parse(JSON.stringify(body, null, indent)).usage).toHaveLength(records.length);
    }),
  );
});

it('rejects a page with a duplicate name in any of its objects', () => {
  fc.assert(
    fc.property(items, indents, fc.nat(), fc.boolean(), (records, indent, place, isEscaped) => {
      const text = JSON.stringify(page(records.map((record) => item(record))), null, indent);
      const members = [...text.matchAll(/"([a-z_]+)":/g)];
      const { index, 1: name } = members[place % members.length] as RegExpExecArray;
      const written = isEscaped ? name?.replace('_', '\\u005f') : name;
      const doubled = `${text.slice(0, index)}"${written}":0,${text.slice(index)}`;
      expect(() => parse(doubled)).toThrow(`"${name}" appears twice in one object (page 7)`);
    }),
  );
});

it('finds a duplicate figure even if all other figures have their shortest form', () => {
  const records = Array.from({ length: 12 }, (_, index) => item({ tenant_id: `t${index}`, credits_used: 5_000_000 }));
  const short = JSON.stringify(page(records)).replaceAll('5000000', '5e6');
  expect(parse(short).usage).toHaveLength(12);
  const doubled = short.replace('"credits_used":', '"credits_used":1,"credits_used":');
  expect(() => parse(doubled)).toThrow('"credits_used" appears twice in one object');
});

it('recognizes by its length that a page in the documented form has no duplicates', () => {
  const text = JSON.stringify(page([item(), item({ tenant_id: 'b', credits_used: -12_345 })]));
  const { message } = JSON.parse(text);
  expect(cannotHoldDuplicates(text, { message, page: parse(text) })).toBe(true);
  const doubled = text.replace('"success"', '"success":1,"success"');
  expect(cannotHoldDuplicates(doubled, { message, page: parse(text) })).toBe(false);
});

it.each([
  ['{"a":1,"a":2}', 'a'],
  ['[{"a":[{"b":":"},{"b":0,"c":1,"b":2}]}]', 'b'],
  ['{"a":"\\u003a","b":{"c":1,"\\u0063":2}}', 'c'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"a":{"a":"\\"a\\":"},"b:":"a"}', null],
  ['[[],{},":","::"]', null],
])('reads %s', (text, expected) => {
  expect(findRepeatedMember(text, JSON.parse(text))).toBe(expected);
});
