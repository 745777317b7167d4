import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import readExcel from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { openDuckDb } from '../../support/duckdb.ts';
import { eventually } from '../../support/eventually.ts';
import { serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

describe('a file over HTTP', () => {
  it.each(['charges', 'period_changes', 'history'])('a workbook of %s is the one of the command', async (view) => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const answer = await ask(`/v1/exports/${view}`, { headers: { accept: XLSX } });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, XLSX]);
    expect(answer.headers['content-disposition']).toBe('attachment; filename="view.xlsx"');
    await world.run('export', view, '--format', 'xlsx', '--out', 'own.xlsx');
    const own = await readExcel(join(world.folder, 'own.xlsx'));
    expect((await readExcel(answer.bytes)).map(({ data }) => data)).toEqual(own.map(({ data }) => data));
  });

  it('Parquet has the rows of the command, with every digit and the same types', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const duck = await openDuckDb();
    for (const view of ['usage', 'charges', 'period_changes']) {
      const { status, bytes } = await ask(`/v1/exports/${view}?format=parquet`);
      expect(status).toBe(200);
      const [mine, own] = ['mine.parquet', 'own.parquet'].map((name) => join(world.folder, name));
      writeFileSync(mine ?? '', bytes);
      await world.run('export', view, '--format', 'parquet', '--out', 'own.parquet');
      expect(await duck.types(`'${mine}'`)).toEqual(await duck.types(`'${own}'`));
      expect(await duck.rows(`FROM '${mine}'`)).toEqual(await duck.rows(`FROM '${own}'`));
    }
  });

  it('a statement is the page that the command writes, for one tenant and for all', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const all = ['2026-01', '--workspace', 'ws-1', '--format', 'html', '--out', 'own.html'];
    for (const [path, argv] of [
      ['/v1/statements/2026-01?workspace=ws-1&format=html', all],
      ['/v1/statements/2026-01/acme?workspace=ws-1&format=html', [...all, '--for-tenant', 'acme']],
    ] as const) {
      expect((await world.run('statement', ...argv)).err).not.toContain('error');
      const answer = await ask(path);
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(answer.text).toBe(readFileSync(join(world.folder, 'own.html'), 'utf8'));
    }
  });

  it('leaves nothing behind once it is sent', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('usage-ledger-sheet-'));
    const before = folders();
    await ask('/v1/usage?format=xlsx');
    await eventually(() => expect(folders().filter((name) => !before.includes(name))).toEqual([]));
  });

  it.each([
    ['/v1/alerts?format=xlsx', {}],
    ['/v1/head?format=csv', {}],
    ['/v1/usage?format=pdf', {}],
    ['/v1/silences', { accept: XLSX }],
  ])('%s is refused if there is no such format', async (path, headers) => {
    const { ask } = await serveApi(await worldOfOperations());
    expect(await ask(path, { headers })).toMatchObject({ status: 406, json: { code: 'not_acceptable' } });
  });

  it('a browser that accepts HTML among others gets JSON where there is no page', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const answer = await ask('/v1/usage', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  });
});
