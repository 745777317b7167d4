import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf, parseJson } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

describe('the HTTP API', () => {
  it('gives a listing in pages that lose and repeat no row, and ends with a null cursor', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const resources = ['usage', 'tenants', 'runs', 'changes', 'charges', 'exports/history', 'exports/alert_events'];
    const views = ['exports/charge_lines', 'exports/daily'];
    for (const path of [...resources, ...views].map((name) => `/v1/${name}`)) {
      const whole = (await ask(path)).json.rows;
      expect(whole.length, path).toBeGreaterThan(1);
      const rows: unknown[] = [];
      let cursor: string | null = '';
      for (let page = 0; cursor !== null && page < 50; page += 1) {
        const next: { rows: unknown[]; next_cursor: string | null } = (
          await ask(`${path}?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
        ).json;
        expect(next.rows).toHaveLength(1);
        rows.push(...next.rows);
        cursor = next.next_cursor;
      }
      expect(rows, path).toEqual(whole);
    }
  });

  it('continues a listing where it stopped after the ledger has grown', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const first = (await ask('/v1/usage?limit=3')).json;
    world.clock.nowMs += 3_600_000;
    world.sandbox.workspace('ws-1').set({ tenantId: 'aaa', period: '2025-12', credits: 1, requests: 1 });
    world.sandbox.workspace('ws-1').set({ tenantId: 'zeta', period: '2026-02', credits: 2, requests: 1 });
    await world.run('sync');
    const rest = (await ask(`/v1/usage?cursor=${first.next_cursor}`)).json;
    const keyOf = (row: Record<string, string>) => [row.workspace_id, row.period, row.tenant_id].join(' ');
    const keys = [...first.rows, ...rest.rows].map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toContain('ws-1 2026-02 zeta');
    expect(rest.next_cursor).toBeNull();
  });

  it('refuses a cursor of another ledger, of other filters, and one that is made up', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const { next_cursor: cursor } = (await ask('/v1/usage?limit=1')).json;
    const other = await ask(`/v1/usage?limit=1&period=2026-02&cursor=${cursor}`);
    expect(other).toMatchObject({ status: 400, json: { code: 'bad_cursor' } });
    expect((await ask(`/v1/tenants?cursor=${cursor}`)).json.detail).toBe(
      'cursor belongs to another path or other filters',
    );
    const [version, , listing, key] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const foreign = Buffer.from(JSON.stringify([version, 'AAAAAAAAAAAA', listing, key])).toString('base64url');
    expect((await ask(`/v1/usage?cursor=${foreign}`)).json.detail).toBe('cursor belongs to another ledger');
    for (const made of ['x', 'e30', Buffer.from('[1,2,3,[{}]]').toString('base64url'), 'A'.repeat(9000)]) {
      expect(await ask(`/v1/usage?cursor=${made}`)).toMatchObject({ status: 400, json: { code: 'bad_cursor' } });
    }
  });

  it('streams all rows as lines of JSON and as CSV', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const { rows } = (await ask('/v1/usage')).json;
    const lines = await ask('/v1/usage', { headers: { accept: 'application/x-ndjson' } });
    expect(lines.headers['content-type']).toBe('application/x-ndjson');
    expect(lines.text.trimEnd().split('\n').map(parseJson)).toEqual(rows);
    const csv = await ask('/v1/charges', { headers: { accept: 'text/csv' } });
    const exported = await world.run('export', 'charges', '--format', 'csv');
    expect(csv.text).toBe(exported.out);
    expect((await ask('/v1/silences', { headers: { accept: 'text/csv' } })).status).toBe(406);
  });

  it('answers 304 while the answer is current, and the new answer after a change', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const first = await ask('/v1/usage');
    const etag = String(first.headers.etag);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    const again = await ask('/v1/usage', { headers: { 'if-none-match': etag } });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
    world.clock.nowMs += 3_600_000;
    await world.run('sync');
    const unchanged = await ask('/v1/usage', { headers: { 'if-none-match': etag } });
    expect(unchanged.status).toBe(304);
    world.sandbox.workspace('ws-2').set({ tenantId: 'acme', period: '2026-02', credits: 71, requests: 10 });
    await world.run('sync');
    const changed = await ask('/v1/usage', { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.etag).not.toBe(etag);
    writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\nacme,Acme Limited\n');
    expect(await world.run('tenants', 'import', 'names.csv', '--workspace', 'ws-1')).toMatchObject({ code: 0 });
    const renamed = await ask('/v1/usage', { headers: { 'if-none-match': String(changed.headers.etag) } });
    expect(renamed.status).toBe(200);
  });

  it('writes integers with all their digits', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    expect((await ask('/v1/usage?tenant=globex&period=2026-02')).text).toContain('"credits_used": 9007199254740993');
  });

  it('acknowledges an alert as its command does, under the name of the token, and once', async () => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const { alert_id: id } = inputOf('alerts.acknowledge', world);
    const question = { method: 'POST', role: 'operate', body: { note: 'load test' } } as const;
    const first = await ask(`/v1/alerts/${id}/acknowledge`, question);
    expect(first.status).toBe(200);
    expect(first.json.transitions.at(-1)).toMatchObject({
      change: 'acknowledged',
      actor: 'operate-bot (API token)',
      note: 'load test',
    });
    const { snapshot, applied, notes, ...document } = first.json;
    expect({ applied, notes }).toEqual({ applied: true, notes: [] });
    expect(document).toEqual(parseJson((await world.run('alerts', 'show', String(id), '--json')).out));
    // The caller may not have seen the first answer.
    expect((await ask(`/v1/alerts/${id}/acknowledge`, question)).json).toEqual(first.json);
    const other = await ask(`/v1/alerts/${id}/acknowledge`, { ...question, role: 'finance' });
    expect([other.status, other.json.code]).toEqual([409, 'alert_not_firing']);
  });
});
