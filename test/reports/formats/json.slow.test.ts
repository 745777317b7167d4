import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderJson } from '../../../src/reports/formats/json.ts';

test('any JSON value is read back unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
      const document = { value, text };
      expect(JSON.parse(renderJson(document))).toEqual(JSON.parse(JSON.stringify(document)));
    }),
  );
});
