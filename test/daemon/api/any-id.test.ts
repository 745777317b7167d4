import { describe, expect, it } from 'vitest';
import { copiesOf, parseJson } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { HOSTILE_IDS } from '../../support/hostile-texts.ts';
import { connectOverHttp } from '../mcp/mcp-client.ts';
import { serveApi } from './served-api.ts';

const PERIOD = '2026-02';
/** Clients take the segments `.` and `..` out of a path. */
const isSegment = (id: string): boolean => id === '.' || id === '..';
const pathOf = (id: string): string => `/v1/tenants/${isSegment(id) ? '' : encodeURIComponent(id)}`;
const fieldsOf = (id: string) => (isSegment(id) ? { tenant_id: id } : {});

/** Ids that the service may send: any Unicode of up to 1,024 bytes. */
const IDS: readonly string[] = [
  ...['a\0b', '\0', 'a', ' ', '100%', '%00', '%2F', '\\', '"', '__proto__', 'constructor', '[object Object]', 'null'],
  ...[
    'snow ☃ 🎿',
    '\ufeff',
    '\u0001\u007f\u009f',
    'é',
    'e\u0301',
    '../etc',
    '.',
    '..',
    '-',
    '--json',
    '*',
    '?',
    '_',
    '🎿'.repeat(256),
  ],
  ...HOSTILE_IDS,
];

describe('a tenant of any id that the ledger stores', () => {
  const worldOfIds = copiesOf(async () => {
    const world = await ledgerOfOperations();
    for (const [at, tenantId] of IDS.entries()) {
      world.sandbox.workspace('ws-1').set({ tenantId, period: PERIOD, credits: at + 1, requests: 1 });
    }
    expect(await world.run('sync')).toMatchObject({ code: 0 });
    return world;
  });
  it('is found over HTTP, in the path and in the query', async () => {
    const { ask } = await serveApi(await worldOfIds());
    for (const [at, id] of IDS.entries()) {
      const shown = await ask(`${pathOf(id)}?${new URLSearchParams(fieldsOf(id))}`);
      expect([id, shown.status, shown.json.tenant_id, shown.json.workspaces?.[0]?.usage?.[0]?.credits_used]).toEqual([
        ...[id, 200, id, at + 1],
      ]);
      const listed = await ask(`/v1/usage?tenant=${encodeURIComponent(id)}&period=${PERIOD}`);
      expect(listed.json.rows).toMatchObject([{ tenant_id: id, credits_used: at + 1 }]);
    }
  });

  it('is a row of exactly one page', async () => {
    const { ask } = await serveApi(await worldOfIds());
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await ask(`/v1/usage?workspace=ws-1&period=${PERIOD}&limit=3${cursor}`);
      found.push(...json.rows.map(({ tenant_id: id }: { tenant_id: string }) => id));
      if (json.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(json.next_cursor)}`;
    }
    expect(found.filter((id) => IDS.includes(id)).sort()).toEqual(IDS.toSorted());
  });

  it('is changed by a request with a JSON body', async () => {
    const world = await worldOfIds();
    const { ask } = await serveApi(world);
    for (const tenant of IDS) {
      const body = { workspace: 'ws-1', tenant, period: PERIOD, amount: '-1.00', currency: 'EUR', reason: 'goodwill' };
      const added = await ask('/v1/lines', { method: 'POST', role: 'finance', body });
      expect([tenant, added.status, added.json.detail]).toEqual([tenant, 200, undefined]);
      const named = { ...fieldsOf(tenant), workspace: 'ws-1', display_name: `Name of ${tenant.length}` };
      const edited = await ask(pathOf(tenant), { method: 'POST', role: 'finance', body: named });
      expect([tenant, edited.status, edited.json.detail]).toEqual([tenant, 200, undefined]);
    }
    const lines = world.query("SELECT tenant_id FROM finance_lines WHERE amount = '-1.00'") as { tenant_id: string }[];
    expect(lines.map(({ tenant_id: id }) => id).sort()).toEqual(IDS.toSorted());
  });

  it('is found by an assistant', async () => {
    const { url } = await serveApi(await worldOfIds());
    const { call } = await connectOverHttp(url);
    for (const [at, id] of IDS.entries()) {
      const { json } = await call('tenants_show', { tenant_id: id });
      expect([json.tenant_id, json.workspaces?.[0]?.usage?.[0]?.credits_used]).toEqual([id, at + 1]);
    }
  });

  it('is found by a command, unless its id has U+0000, which no argument can have', async () => {
    const world = await worldOfIds();
    for (const [at, id] of IDS.entries()) {
      if (id.includes('\0')) continue;
      const { out, code } = await world.run('tenant', '--json', '--', id);
      expect([id, code]).toEqual([id, 0]);
      expect(parseJson(out)).toMatchObject({ tenant_id: id, workspaces: [{ usage: [{ credits_used: at + 1 }] }] });
    }
  });
});

it('an id that is not Unicode is refused with the field', async () => {
  const { ask } = await serveApi(await copiesOf(ledgerOfOperations)());
  const answer = await ask('/v1/lines', {
    method: 'POST',
    role: 'finance',
    body: Buffer.from('{"tenant": "a\\ud800"}'),
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.json.errors).toContainEqual({ field: 'tenant', message: 'is not valid Unicode' });
});
