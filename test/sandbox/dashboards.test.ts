import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { type Answer, call, KEY, NOON, SECRET, scenarioWith, signedHeaders, testClock, usagePath } from './client.ts';

const DASHBOARDS = '/api/v1/external/dashboards';
const EMBED = '/api/v1/embed/generate-token';
const JSON_TYPE = { 'Content-Type': 'application/json' };

let sandbox: Sandbox;
beforeEach(async () => {
  const { workspaces } = scenarioWith();
  const other = { id: 'ws-2', api_key_id: 'ak_other', secret_key: 'sk_other_not_a_secret' };
  sandbox = await startSandbox({ scenario: { workspaces: [...workspaces, other] }, clock: testClock() });
});
afterEach(() => sandbox.close());

function create(
  body: unknown,
  headers: Record<string, string> = { ...signedHeaders(), ...JSON_TYPE },
): Promise<Answer> {
  return call(sandbox, DASHBOARDS, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

function embed(body: unknown, headers: Record<string, string> = JSON_TYPE): Promise<Answer> {
  return call(sandbox, EMBED, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function credentials(): Promise<Record<string, string>> {
  const { body } = await create({ workspace_id: 'ws-1', title: 'Usage' });
  return { workspace_id: 'ws-1', api_key_id: KEY, secret_key: SECRET, dashboard_id: String(body.data?.dashboard_id) };
}

describe('create dashboard', () => {
  it('returns every documented field', async () => {
    const answer = await create({ workspace_id: 'ws-1', title: 'Usage', description: 'by month' });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.body).toEqual({
      message: expect.any(String),
      success: true,
      data: {
        dashboard_id: expect.stringMatching(/^.{36}$/),
        title: 'Usage',
        description: 'by month',
        workspace_id: 'ws-1',
        dashboard_status: expect.any(String),
        meta: {},
        configuration: {},
        is_public: false,
        created_by: expect.any(String),
        modified_by: expect.any(String),
        deleted_by: expect.any(String),
        created_at: '2026-02-20T12:00:00.000Z',
        modified_at: '2026-02-20T12:00:00.000Z',
      },
    });
  });

  it.each([
    [{ workspace_id: 'ws-1' }, 400],
    [{ title: 'Usage' }, 400],
    [{ workspace_id: 'ws-1', title: '' }, 400],
    [{ workspace_id: 'ws-1', title: 1 }, 400],
    [{ workspace_id: 'ws-1', title: 'Usage', description: 1 }, 400],
    [[], 400],
    ['{', 400],
    [{ workspace_id: 'ws-2', title: 'Usage' }, 403],
  ])('refuses the body %j with %d', async (body, status) => {
    const answer = await create(body);
    expect(answer.status).toBe(status);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
  });

  it('refuses a missing signature and another content type', async () => {
    expect((await create({ workspace_id: 'ws-1', title: 'Usage' }, JSON_TYPE)).status).toBe(401);
    const text = { ...signedHeaders(), 'Content-Type': 'text/plain' };
    expect((await create({ workspace_id: 'ws-1', title: 'Usage' }, text)).status).toBe(415);
    const charset = { ...signedHeaders(), 'Content-Type': 'application/json; charset=utf-8' };
    expect((await create({ workspace_id: 'ws-1', title: 'Usage' }, charset)).status).toBe(200);
  });
});

describe('embed token', () => {
  it('is issued for a dashboard of the workspace with the requested expiry', async () => {
    const fields = await credentials();
    const hour = await embed(fields);
    const minute = await embed({ ...fields, validity_duration: 60 });
    expect(hour.status).toBe(200);
    expect(Object.keys(hour.body.data ?? {})).toEqual(['token', 'expires_at']);
    expect(hour.body.data?.expires_at).toBe(new Date(NOON + 3_600_000).toISOString());
    expect(minute.body.data?.expires_at).toBe(new Date(NOON + 60_000).toISOString());
    expect(minute.body.data?.token).not.toBe(hour.body.data?.token);
  });

  it.each([
    ['a wrong secret', { secret_key: 'sk_wrong_not_a_secret' }, 401],
    ['an unknown key', { api_key_id: 'ak_nobody' }, 401],
    ['another workspace', { workspace_id: 'ws-2' }, 401],
    ['an unknown dashboard', { dashboard_id: 'none' }, 404],
    ['an empty workspace', { workspace_id: '' }, 400],
    ['no secret', { secret_key: undefined }, 400],
    ['no key', { api_key_id: undefined }, 400],
    ['no dashboard', { dashboard_id: undefined }, 400],
    ['a validity of 0', { validity_duration: 0 }, 400],
    ['a fractional validity', { validity_duration: 1.5 }, 400],
    ['a validity as text', { validity_duration: '60' }, 400],
  ])('is refused for %s', async (_, change, status) => {
    const answer = await embed({ ...(await credentials()), ...change });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
    expect(answer.text).not.toContain('_not_a_secret');
  });

  it('is refused for a dashboard of another workspace', async () => {
    const fields = await credentials();
    const answer = await embed({
      ...fields,
      workspace_id: 'ws-2',
      api_key_id: 'ak_other',
      secret_key: 'sk_other_not_a_secret',
    });
    expect(answer.status).toBe(404);
  });

  it('leaves no secret in the request log', async () => {
    await embed(await credentials());
    expect(JSON.stringify(sandbox.requests.records)).not.toContain(SECRET);
  });
});

describe('other requests', () => {
  it.each(['/', '/api/v1/external', `${usagePath()}/`, `${usagePath()}/a/b`, '/api/v2/external/dashboards'])(
    'answers %s with 404 in the envelope',
    async (path) => {
      const answer = await call(sandbox, path);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
    },
  );

  it.each([
    [DASHBOARDS, 'GET', 'POST'],
    [EMBED, 'GET', 'POST'],
    [usagePath(), 'POST', 'GET'],
    [usagePath('', 't'), 'DELETE', 'GET'],
  ] as const)('answers %s with method %s with 405 and names the right one', async (path, method, allowed) => {
    const answer = await call(sandbox, path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allowed);
    expect(answer.body).toEqual({ success: false, message: expect.any(String), data: null });
  });

  it('answers a path with broken percent-encoding with 400', async () => {
    expect((await call(sandbox, `${usagePath()}/%E0%A4%A`)).status).toBe(400);
  });
});
