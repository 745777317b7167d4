import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf, parseJson, SECRET, type World } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { rejection } from '../../support/rejection.ts';
import { serveApi, TOKENS } from '../api/served-api.ts';
import { PAGES_TOKEN } from '../http/serve-world.ts';
import { connectOverHttp } from './mcp-client.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const nameOf = ({ name }: { name: string }) => name.replace('.', '_');
const READS = OPERATIONS.filter(({ role }) => role === 'read').map(nameOf);

/** The rows that any change of an alert leaves. */
function changesOf(world: World): unknown[] {
  return world.query('SELECT count(*), max(revision) FROM alert_transitions');
}

describe('the tools of MCP', () => {
  it('are the operations that read, whatever the role of the token, and no other', async () => {
    const { url } = await serveApi(await worldOfOperations());
    for (const role of ['read', 'operate', 'finance'] as const) {
      const { client } = await connectOverHttp(url, role);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(READS);
      expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    }
  });

  it('include what the role may change with `mcp: write`, recorded under the name of the token', async () => {
    const world = await worldOfOperations();
    const tokens = TOKENS.map((token) => ({ ...token, mcp: 'write' as const }));
    const { url } = await serveApi(world, { tokens });
    const { client: reader } = await connectOverHttp(url, 'read');
    expect((await reader.listTools()).tools.map(({ name }) => name)).toEqual(READS);
    const { client, call } = await connectOverHttp(url, 'operate');
    const { tools } = await client.listTools();
    const allowed = OPERATIONS.filter(({ role, upload }) => role !== 'finance' && upload === undefined).map(nameOf);
    expect(tools.map(({ name }) => name)).toEqual(allowed);
    expect(tools.find(({ name }) => name === 'alerts_acknowledge')?.annotations?.readOnlyHint).toBe(false);
    const { json } = await call('alerts_acknowledge', { ...inputOf('alerts.acknowledge', world), note: 'load test' });
    expect(json.transitions.at(-1)).toMatchObject({ change: 'acknowledged', actor: 'operate-bot (API token)' });
  });

  it('change nothing for a token without it: a change is a tool that does not exist', async () => {
    const world = await worldOfOperations();
    const { url } = await serveApi(world);
    const before = changesOf(world);
    const { call } = await connectOverHttp(url, 'finance');
    const error = await rejection(call('alerts_acknowledge', inputOf('alerts.acknowledge', world)));
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('there is no tool "alerts_acknowledge"'),
    });
    expect(changesOf(world)).toEqual(before);
  });

  it('have names that every client accepts, a description, and a schema that describes and closes their fields', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const { client } = await connectOverHttp(url);
    for (const { name, title, description, inputSchema } of (await client.listTools()).tools) {
      expect(name).toMatch(/^[a-z_]{3,40}$/);
      expect(description, name).toMatch(/^[A-Z].{60,}\.$/s);
      expect(description).toContain(title);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
        expect((schema as { description?: string }).description, `${name} ${field}`).toBeTruthy();
      }
    }
  });
});

describe('an answer of MCP', () => {
  it('has at most 200 rows, 50 by default, and says how to ask for the next', async () => {
    const world = await worldOfOperations();
    for (let at = 0; at < 450; at += 1) {
      const tenantId = `t${String(at).padStart(3, '0')}`;
      world.sandbox.workspace('ws-2').set({ tenantId, period: '2026-02', credits: 5, requests: 1 });
    }
    await world.run('sync');
    const { url, ask } = await serveApi(world);
    const { call } = await connectOverHttp(url);
    expect((await call('usage_list')).json.rows).toHaveLength(50);
    expect((await call('usage_list', { limit: 201 })).json.errors).toEqual([
      { field: 'limit', message: 'expected a whole number from 1 to 200' },
    ]);
    const rows: unknown[] = [];
    let cursor: string | null = null;
    do {
      const reply = await call('usage_list', { limit: 200, workspace: 'ws-2', ...(cursor === null ? {} : { cursor }) });
      rows.push(...reply.json.rows);
      cursor = reply.json.next_cursor;
      const next = `There are more rows: call usage_list again with the same fields and "cursor": ${JSON.stringify(cursor)}.`;
      expect(reply.notes).toEqual(cursor === null ? [] : [next]);
    } while (cursor !== null);
    expect(rows).toEqual((await ask('/v1/usage?workspace=ws-2&limit=1000')).json.rows);
    expect(rows).toHaveLength(452);
  });

  it('cuts the lists of a document to 200 objects, and continues each of them with its cursor', async () => {
    const world = await worldOfOperations();
    for (let at = 0; at < 300; at += 1) {
      const period = `${2000 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`;
      world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period, credits: 5 + at, requests: 1 });
    }
    await world.run('sync', '--workspace', 'ws-1', '--from', '2000-01');
    const { url, ask } = await serveApi(world);
    const { call } = await connectOverHttp(url);
    const whole = (await ask('/v1/tenants/acme?workspace=ws-1')).json.workspaces[0];
    const first = await call('tenants_show', { tenant_id: 'acme', workspace: 'ws-1' });
    const shown = first.json.workspaces[0];
    expect(1 + shown.usage.length + shown.entries.length).toBe(200);
    const notes = first.notes.join('\n').split('\n');
    expect(notes).toHaveLength(2);
    for (const member of ['usage', 'entries'] as const) {
      const items = [...shown[member]];
      let note = notes.find((line) => line.startsWith(`/workspaces/0/${member} has ${whole[member].length} items`));
      while (note !== undefined) {
        const [, cursor] = /"cursor": "([^"]+)"/.exec(note) ?? [];
        const reply = await call('tenants_show', { tenant_id: 'acme', workspace: 'ws-1', cursor });
        expect(reply.json.member).toBe(`/workspaces/0/${member}`);
        expect(reply.json.items.length).toBeLessThanOrEqual(200);
        items.push(...reply.json.items);
        [note] = reply.notes;
      }
      expect(items, member).toEqual(whole[member]);
    }
  });

  it('is an error that the model can read, with code, hint and each field, for what cannot be answered', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const { call } = await connectOverHttp(url);
    const wrong = await call('usage_list', { period: 'February', colour: 'red' });
    expect(wrong.isError).toBe(true);
    expect(wrong.json).toEqual({
      code: 'bad_request',
      detail: 'period: expected a month such as 2026-02, and 1 more',
      hint: "see the tool's input schema",
      errors: [
        { field: 'period', message: 'expected a month such as 2026-02' },
        { field: 'colour', message: 'is not a field of this tool' },
      ],
    });
    const cases: [string, object, string][] = [
      ['usage_list', { workspace: 'nobody' }, 'usage'],
      ['usage_list', { cursor: 'x' }, 'bad_cursor'],
      ['usage_list', { cursor: 7 }, 'bad_request'],
      ['alerts_show', { alert_id: 'alert_0' }, 'unknown_alert'],
      ['alerts_show', { alert_id: 'a\0b' }, 'unknown_alert'],
      ['tenants_show', {}, 'bad_request'],
      ['tenants_show', { tenant_id: 'acme', cursor: 'x' }, 'bad_cursor'],
      ['statements_list', { period: '2026-01' }, 'usage'],
    ];
    for (const [tool, fields, code] of cases) {
      const { isError, json } = await call(tool, { ...fields });
      expect([tool, fields, isError, json.code, typeof json.hint]).toEqual([tool, fields, true, code, 'string']);
    }
  });

  it('continues with the cursor of the HTTP API, and refuses one of other fields', async () => {
    const { url, ask } = await serveApi(await worldOfOperations());
    const { call } = await connectOverHttp(url);
    const first = (await ask('/v1/usage?limit=3')).json;
    const rest = await call('usage_list', { cursor: first.next_cursor });
    expect([...first.rows, ...rest.json.rows]).toEqual((await ask('/v1/usage')).json.rows);
    const other = await call('usage_list', { cursor: first.next_cursor, workspace: 'ws-1' });
    expect(other.json).toMatchObject({ code: 'bad_cursor', hint: 'start again without a cursor' });
  });

  it('writes integers with all their digits, and no secret', async () => {
    const world = await worldOfOperations();
    world.sandbox.workspace('ws-1').set({ tenantId: `x ${SECRET} y`, period: '2026-02', credits: 5, requests: 1 });
    await world.run('sync');
    const { url } = await serveApi(world);
    const { call } = await connectOverHttp(url);
    const { text } = await call('usage_list', { workspace: 'ws-1', period: '2026-02' });
    expect(text).toContain('"credits_used":9007199254740993');
    expect(text).toContain('x [redacted] y');
    expect((await call('tenants_show', { tenant_id: SECRET })).text).not.toContain(SECRET);
  });
});

describe('the resources of MCP', () => {
  it('are the views of the ledger, and each names every column', async () => {
    const world = await worldOfOperations();
    const { url } = await serveApi(world);
    const { client } = await connectOverHttp(url);
    const { resources } = await client.listResources();
    const columns = Map.groupBy(
      world.query(
        `SELECT view.name, column.name AS column FROM sqlite_schema AS view, pragma_table_info(view.name) AS column
         WHERE view.type = 'view' AND view.name LIKE 'finance_%'`,
      ) as { name: string; column: string }[],
      ({ name }) => name,
    );
    expect(resources.map(({ title }) => title).toSorted()).toEqual([...columns.keys()].toSorted());
    for (const { uri, title } of resources) {
      const [content] = (await client.readResource({ uri })).contents;
      const text = content !== undefined && 'text' in content ? content.text : '';
      const named = [...text.matchAll(/^- (\w+)(?=:|$)/gm)].map(([, name]) => name);
      expect(named, uri).toEqual(columns.get(title ?? '')?.map(({ column }) => column));
      expect(text, 'links lead nowhere').not.toMatch(/\]\(/);
    }
    expect(await rejection(client.readResource({ uri: 'ledger://views/nothing' }))).toMatchObject({ code: -32602 });
  });
});

describe('/mcp', () => {
  const INITIALIZE = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
  };

  async function post(url: string, headers: Record<string, string>, body: unknown, method = 'POST') {
    const sent = request(`${url}/mcp`, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    });
    sent.end(typeof body === 'string' ? body : JSON.stringify(body));
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    sent.once('error', reject).once('response', async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve({ status: response.statusCode ?? 0, text });
    });
    return promise;
  }

  it('answers a client of the year 2025 without a session', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const authorization = `Bearer ${TOKENS[0]?.token}`;
    const { status, text } = await post(url, { authorization }, INITIALIZE);
    expect(status).toBe(200);
    expect(text).toContain('"protocolVersion":"2025-06-18"');
    const list = await post(
      url,
      { authorization, 'mcp-protocol-version': '2025-06-18' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    );
    const [, data = ''] = /^data: (.+)$/m.exec(list.text) ?? [];
    expect(parseJson(data).result.tools).toHaveLength(READS.length);
  });

  it('needs a token in the header, from this machine, and from no other site', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const authorization = `Bearer ${TOKENS[0]?.token}`;
    const cookie = `usage_ledger_token=${Buffer.from(PAGES_TOKEN).toString('base64url')}`;
    expect((await post(url, {}, INITIALIZE)).status).toBe(401);
    expect((await post(url, { authorization: 'Bearer guess' }, INITIALIZE)).status).toBe(401);
    expect((await post(url, { cookie }, INITIALIZE)).status).toBe(401);
    expect((await post(url, { authorization, host: 'rebound.example' }, INITIALIZE)).status).toBe(421);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
      expect((await post(url, { authorization, origin }, INITIALIZE)).status, origin).toBe(403);
    }
    expect((await post(url, { authorization, origin: url }, INITIALIZE)).status).toBe(200);
    expect((await post(url, { authorization: `Bearer ${PAGES_TOKEN}` }, INITIALIZE)).status).toBe(200);
  });

  it('refuses a body that is no message', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const bodies: [string, string, number][] = [
      ['no JSON', '{"jsonrpc":', 400],
      ['a list', '[]', 400],
      ['a deep one', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400],
      ['a large one', 'x'.repeat(3_000_000), 413],
      ['no message', '{"hello":"world"}', 400],
      ['text', '"hello"', 400],
    ];
    for (const [name, body, status] of bodies) {
      const answer = await post(url, { authorization: `Bearer ${TOKENS[0]?.token}` }, body);
      expect([name, answer.status]).toEqual([name, status]);
    }
  });

  it('has no stream to open and no session to delete', async () => {
    const { url } = await serveApi(await worldOfOperations());
    const authorization = `Bearer ${TOKENS[0]?.token}`;
    for (const method of ['GET', 'DELETE']) {
      expect((await post(url, { authorization, accept: 'text/event-stream' }, '', method)).status, method).toBe(405);
    }
  });
});
