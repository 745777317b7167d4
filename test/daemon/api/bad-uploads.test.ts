import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { requestOf, serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const PROBLEM = 'application/problem+json; charset=utf-8';

describe('an upload', () => {
  const file = { name: 'invoices.csv', bytes: Buffer.from('tenant_id,net\nacme,8.50\n') };

  it.each([
    ['in a file that is too large', { file: { ...file, bytes: Buffer.alloc(17 * 1024 * 1024) } }, 413],
    ['as a text', { file: 'tenant_id,net' }, 400],
    ['under another name', { invoices: file }, 400],
    ['that are no table', { file: { ...file, bytes: Buffer.from('%PDF-1.7 not a table') } }, 400],
    ['with a column that the file does not have', { file, amount_column: 'gross' }, 400],
    ['as JSON', null, 415],
  ])('with invoices %s is refused, and nothing is written', async (_, fields, status) => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const form = { period: '2026-01', workspace: 'ws-1', amount_column: 'net', dry_run: false, ...fields };
    const operation = { http: { method: 'POST', path: '/reconciliations' }, upload: 'file' } as const;
    const [path, question] = fields === null ? ['/v1/reconciliations', { body: {} }] : requestOf(operation, form);
    const answer = await ask(path, { ...question, method: 'POST', role: 'finance' });
    expect([answer.status, answer.headers['content-type']]).toEqual([status, PROBLEM]);
    expect(world.query('SELECT * FROM finance_reconciliations')).toEqual([]);
  });

  it.each([
    ['that ends early', '--x\r\ncontent-disposition: form-data; name="period"\r\n\r\n2026-01'],
    ['that is JSON', '{"period":"2026-01"}'],
    ['that is empty', ''],
  ])('with a form %s is refused', async (_, body) => {
    const { ask } = await serveApi(await worldOfOperations());
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const question = { method: 'POST', role: 'finance', headers, body: Buffer.from(body) } as const;
    const answer = await ask('/v1/reconciliations', question);
    expect([answer.status, answer.headers['content-type']]).toEqual([400, PROBLEM]);
  });
});
