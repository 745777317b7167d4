// cspell:ignore verbrauch
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { textOf } from '../../daemon/console/page-text.ts';
import { copiesOf, FIRST, parseJson, workspaceSettings } from '../world.ts';
import { buildNumbered, close, LOGO, numbersOf, SECOND } from './numbered-statements.ts';

// cspell:ignore anfragen größe söhne

const createNumbered = copiesOf(buildNumbered);

const LETTERHEAD = {
  name: 'Größe & <b>Söhne</b>',
  address: ['1 "Main" Street', "<script>alert('x')</script>"],
  logo: 'logo.svg',
  footer: 'IBAN DE00 & more',
  language: 'de',
};

test('each close gives its statements the next numbers, in the order of the ids, over all workspaces, and none twice', async () => {
  const world = await createNumbered({ number: 'R-{seq:0000}' });
  for (const [period, id] of [
    ['2025-12', 'ws-2'],
    ['2025-12', 'ws-1'],
    ['2026-01', 'ws-1'],
  ] as const) {
    expect((await close(world, period, id)).err).toBe('');
  }
  expect(numbersOf(world).map(({ line }) => line)).toEqual([
    ...['ws-2 2025-12 a R-0001', 'ws-2 2025-12 b R-0002', 'ws-2 2025-12 c R-0003'],
    ...['ws-1 2025-12 a R-0004', 'ws-1 2025-12 b R-0005', 'ws-1 2025-12 c R-0006'],
    ...['ws-1 2026-01 a R-0007', 'ws-1 2026-01 b R-0008', 'ws-1 2026-01 c R-0009'],
  ]);
  await world.run('reopen', '2025-12', '--workspace', 'ws-2', '--note', 'wrong');
  await close(world, '2025-12', 'ws-2');
  expect(
    numbersOf(world)
      .slice(-3)
      .map(({ line }) => line),
  ).toEqual([...['ws-2 2025-12 a R-0010', 'ws-2 2025-12 b R-0011', 'ws-2 2025-12 c R-0012']]);
  expect((await world.run('verify')).code).toBe(0);
  const all = world.query('SELECT statement_number, in_force FROM finance_statements ORDER BY statement_number');
  const numbers = Array.from({ length: 12 }, (_, at) => `R-${String(at + 1).padStart(4, '0')}`);
  expect(all).toEqual(numbers.map((statement_number, at) => ({ statement_number, in_force: at < 3 ? 0 : 1 })));

  const csvOf = async (...argv: string[]) =>
    parse((await world.run(...argv)).out, { columns: true }) as Record<string, string>[];
  const january = ['--workspace', 'ws-1'];
  const lines = await csvOf('statement', '2026-01', ...january, '--format', 'csv');
  expect(lines.map((line) => line.statement_number)).toEqual(['R-0007', 'R-0008', 'R-0009']);
  const focus = await csvOf('export', 'focus', '--period', '2026-01', ...january);
  expect(focus.map((line) => line.InvoiceId)).toEqual(['R-0007', 'R-0008', 'R-0009']);
  await world.run('statement', '2026-01', '--each', '--out', 'out', '--format', 'html,json', ...january);
  const index = parse(readFileSync(join(world.folder, 'out', 'index.csv')), { columns: true }) as Record<
    string,
    string
  >[];
  expect(index.map((line) => line.statement_number)).toEqual(['R-0007', 'R-0008', 'R-0009']);
  const [first] = index;
  expect(readFileSync(join(world.folder, 'out', first?.file ?? ''), 'utf8')).toContain(
    '<p class="quiet">Statement R-0007</p>',
  );
  const json = readFileSync(join(world.folder, 'out', (first?.file ?? '').replace('.html', '.json')), 'utf8');
  const verify = (text: string) => {
    writeFileSync(join(world.folder, 'a.json'), text);
    return world.run('statement', 'verify', 'a.json', '--digest', first?.digest ?? '');
  };
  expect(parseJson(json).tenants[0].statement_number).toBe('R-0007');
  expect((await verify(json)).code).toBe(0);
  expect((await verify(json.replace('"R-0007"', '"R-0001"'))).code).toBe(4);
});

test('finance_statements has the names as the close found them', async () => {
  const world = await createNumbered({ number: '{seq}' });
  const name = (display: string) => {
    writeFileSync(join(world.folder, 'names.csv'), `tenant_id,display_name,external_ref\na,${display},C-1\n`);
    return world.run('tenants', 'import', 'names.csv', '--workspace', 'ws-1');
  };
  expect((await name('Then')).code).toBe(0);
  await close(world, '2025-12', 'ws-1');
  await name('Now');
  const [first] = world.query('SELECT * FROM finance_statements ORDER BY statement_number');
  expect(first).toMatchObject({ tenant_id: 'a', period: '2025-12', display_name: 'Then', external_ref: 'C-1' });
});

test('a close that fails gives no number', async () => {
  const world = await createNumbered({ number: '{seq}' });
  const connection = openForWriting(world.ledgerPath);
  // The last row of a close.
  connection.exec(`CREATE TRIGGER broken BEFORE UPDATE OF closed_seq ON periods
    BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
  expect((await close(world, '2025-12', 'ws-1')).code).toBe(1);
  connection.exec('DROP TRIGGER broken');
  connection.close();
  expect(world.query('SELECT * FROM statement_numbers')).toEqual([]);
  await close(world, '2025-12', 'ws-2');
  expect(numbersOf(world).map(({ line }) => line)).toEqual([
    'ws-2 2025-12 a 1',
    'ws-2 2025-12 b 2',
    'ws-2 2025-12 c 3',
  ]);
});

test.each([
  ["UPDATE statement_numbers SET number = 'R-0009' WHERE number = 'R-0002'"],
  ["DELETE FROM statement_numbers WHERE number = 'R-0006'"],
  [
    "INSERT INTO statement_numbers SELECT close_seq, 4, period_key, 'R-0099' FROM statement_numbers WHERE number = 'R-0003'",
  ],
  ['UPDATE close_commitments SET last_number = 7 WHERE last_number = 6'],
  ["UPDATE close_commitments SET number_form = 'S-{seq:0000}'"],
])('verify finds numbers that somebody has changed: %s', async (sql) => {
  const world = await createNumbered({ number: 'R-{seq:0000}' });
  await close(world, '2025-12', 'ws-1');
  // Of a close that was given up no statement is left to compare with.
  await world.run('reopen', '2025-12', '--workspace', 'ws-1', '--note', 'wrong');
  await close(world, '2025-12', 'ws-1');
  expect((await world.run('verify')).code).toBe(0);
  const connection = openForWriting(world.ledgerPath);
  const triggers = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers as { name: string }[]) connection.exec(`DROP TRIGGER ${name}`);
  connection.exec(sql);
  for (const trigger of triggers as { sql: string }[]) connection.exec(trigger.sql);
  connection.close();
  expect((await world.run('verify')).code).toBe(4);
});

test('a form that would give a number again is refused, and another one begins at 1', async () => {
  const world = await createNumbered({ number: '1{seq}' });
  await close(world, '2025-12', 'ws-1');
  const workspaces = [FIRST, SECOND].map((one) => workspaceSettings(world.sandbox, one));
  world.configure({ statement: { number: '{seq:00}' }, workspaces });
  await close(world, '2026-01', 'ws-1');
  await close(world, '2025-12', 'ws-2');
  await close(world, '2026-01', 'ws-2');
  world.configure({ statement: { number: '0{seq}' }, workspaces });
  await world.run('reopen', '2026-01', '--workspace', 'ws-2', '--note', 'wrong');
  const { code, err } = await close(world, '2026-01', 'ws-2');
  expect([code, err]).toEqual([1, expect.stringContaining('the number "01" is already used by another statement')]);
});

test('a letterhead is frozen by the close, in its language, escaped, and part of what the statement proves', async () => {
  const world = await createNumbered({ letterhead: LETTERHEAD });
  await close(world, '2025-12', 'ws-1');
  const workspaces = [FIRST, SECOND].map((one) => workspaceSettings(world.sandbox, one));
  world.configure({ statement: { letterhead: { name: 'Another' } }, workspaces });
  const argv = ['statement', '2025-12', '--workspace', 'ws-1', '--for-tenant', 'a', '--format'];
  const html = (await world.run(...argv, 'html')).out;
  expect(html).toContain('<html lang="de">');
  expect(html).toContain('<strong>Größe &amp; &lt;b>Söhne&lt;/b></strong>');
  expect(html).not.toContain('<script>alert');
  expect(html).toContain(`<img src="data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')}" alt/>`);
  expect(html).toContain('img-src data:');
  expect(textOf(html)).toContain('Verbrauch 1.001 Credits 10 Anfragen');
  expect(html).toContain('<td class="number">12.352,34 EUR</td>');
  expect(html).toContain('IBAN DE00 &amp; more');

  const json = (await world.run(...argv, 'json')).out;
  const { letterhead, head_digest: digest } = parseJson(json);
  expect(letterhead).toMatchObject({ ...LETTERHEAD, logo: expect.stringMatching(/^data:image/) });
  const verify = (text: string) => {
    writeFileSync(join(world.folder, 'a.json'), text);
    return world.run('statement', 'verify', 'a.json', '--digest', digest);
  };
  expect((await verify(json)).code).toBe(0);
  expect((await verify(json.replace('DE00', 'DE99'))).code).toBe(4);
  expect((await verify(json.replace(/"letterhead": \{[^}]*\},/, ''))).code).toBe(4);
  expect((await world.run('verify')).code).toBe(0);
});

test('a logo is an image that is small enough, and nothing is closed without it', async () => {
  const world = await createNumbered({ letterhead: LETTERHEAD });
  writeFileSync(join(world.folder, 'logo.svg'), 'plain text');
  expect((await close(world, '2025-12', 'ws-1')).err).toContain('logo.svg is a text file');
  writeFileSync(join(world.folder, 'logo.svg'), `<svg>${' '.repeat(65_536)}</svg>`);
  expect((await close(world, '2025-12', 'ws-1')).err).toMatch(/logo.svg is too large for a logo: [\d,]+ bytes/);
  expect(world.query('SELECT * FROM finance_closes')).toEqual([]);
});
