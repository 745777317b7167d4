import { expect, test } from 'vitest';
import { write } from './write-workbook.ts';

test.each([
  ['and the total stands below the last', 1_048_580, 1 + 5 + 1],
  ['and so does the total of a full one', 1_048_575, 1 + 1],
])('rows beyond what a sheet can hold go on in another, %s', { timeout: 60_000 }, async (_what, count, lines) => {
  const rows = function* () {
    for (let row = 0; row < count; row += 1) yield [null, 1n];
  };
  const { parts } = await write({
    name: 'usage',
    columns: [
      { name: 'tenant_id', kind: 'id' },
      { name: 'credits', kind: 'credits', sum: true },
    ],
    rows: rows(),
  });
  const sheets = ['usage', 'usage_2'].map((_, at) => parts[`xl/worksheets/sheet${at + 1}.xml`] ?? '');
  expect(parts['xl/workbook.xml']).toContain('<sheet name="usage_2"');
  expect(sheets.map((xml) => xml.split('<row ').length - 1)).toEqual([1_048_576, lines]);
  expect(sheets[1]).toContain(`<v>${count}</v>`);
});
