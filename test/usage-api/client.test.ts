import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_SIGNING } from '../../src/config/signing-scheme.ts';
import type { UsageApiClient } from '../../src/usage-api/client.ts';
import * as api from '../../src/usage-api/public.ts';
import { signRequest } from '../../src/usage-api/sign.ts';
import { rejection } from '../support/rejection.ts';
import { clockThat } from '../support/time/test-clock.ts';
import { goodPage, releaseAfterEach, releasers, reset, setup, silent } from './client-setup.ts';
import { answer, clientOf, failure, item, page, type Reply, SECRET, startService } from './service-double.ts';

releaseAfterEach();

describe('the four endpoints', () => {
  it('requests workspace usage with a signed GET', async () => {
    const { service, client } = await setup([goodPage], { clock: clockThat(() => 1_700_000_000_000) });
    const query = { fromPeriod: '2026-01', toPeriod: '2026-02', page: 3, perPage: 100 };
    const usage = await client.getWorkspaceUsage(query);
    expect(usage.usage).toEqual([item()]);
    const [request] = service.received;
    expect(request).toMatchObject({ method: 'GET', body: '' });
    expect(request?.url).toBe(
      '/api/v1/external/workspaces/ws-1/tenant-usage?from_period=2026-01&to_period=2026-02&page=3&per_page=100',
    );
    const credentials = { workspaceId: 'ws-1', apiKeyId: 'ak_1', secretKey: SECRET, signing: DEFAULT_SIGNING };
    const signed = Object.entries(signRequest(credentials, { method: 'GET', path: '/' }, 1_700_000_000_000));
    expect(request?.headers).toMatchObject(
      Object.fromEntries(signed.map(([name, text]) => [name.toLowerCase(), text])),
    );
    expect(request?.headers).toMatchObject({ 'accept-encoding': 'gzip', 'user-agent': 'usage-ledger' });
  });

  it('sends no parameter that was not set, and keeps a path in base_url', async () => {
    const { service } = await setup([goodPage]);
    const client = clientOf(`${service.url}/proxy/`);
    releasers.push(() => client.close());
    await client.getWorkspaceUsage();
    expect(service.received[0]?.url).toBe('/proxy/api/v1/external/workspaces/ws-1/tenant-usage');
  });

  it.each([
    ['a/b?c#d%', 'a%2Fb%3Fc%23d%25'],
    ['é😀 ü', '%C3%A9%F0%9F%98%80%20%C3%BC'],
    ['...', '...'],
  ])('percent-encodes the tenant id %j', async (tenantId, segment) => {
    const { service, client } = await setup([
      answer(200, page([item({ tenant_id: tenantId })], { tenant_id: tenantId })),
    ]);
    await expect(client.getTenantUsage(tenantId)).resolves.toMatchObject({ tenant_id: tenantId });
    expect(service.received[0]?.url).toBe(`/api/v1/external/workspaces/ws-1/tenant-usage/${segment}`);
  });

  it('creates a dashboard with a signed POST', async () => {
    const dashboard = { dashboard_id: 'd-1', title: 'T', deleted_by: null, meta: {}, colour: 'blue' };
    const { service, client } = await setup([answer(201, { success: true, message: '', data: dashboard })]);
    await expect(client.createDashboard({ title: 'T' })).resolves.toEqual(dashboard);
    expect(service.received[0]).toMatchObject({ method: 'POST', url: '/api/v1/external/dashboards' });
    expect(service.received[0]?.headers['content-type']).toBe('application/json');
    expect(service.received[0]?.headers['x-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ workspace_id: 'ws-1', title: 'T' });
  });

  it('requests an embed token with the secret in the body and no signature', async () => {
    const data = { token: 'tok', expires_at: '2026-02-01T00:00:00Z' };
    const { service, client } = await setup([answer(200, { success: true, message: '', data })]);
    await expect(client.generateEmbedToken({ dashboardId: 'd-1', validitySeconds: 60 })).resolves.toEqual(data);
    const [request] = service.received;
    expect(request).toMatchObject({ method: 'POST', url: '/api/v1/embed/generate-token' });
    expect(Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([]);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      workspace_id: 'ws-1',
      api_key_id: 'ak_1',
      secret_key: SECRET,
      dashboard_id: 'd-1',
      validity_duration: 60,
    });
  });

  it.each([
    ['data.token is missing', { expires_at: '2026-02-01T00:00:00Z' }],
    ['data.expires_at is a text', { token: 'x', expires_at: 'later' }],
    ['data is null', null],
  ])('says of an embed token answer that %s', async (problem, data) => {
    const { client } = await setup([answer(200, { success: true, message: '', data })]);
    const error = await rejection(client.generateEmbedToken({ dashboardId: 'd-1' }));
    expect(error).toBeInstanceOf(api.InvalidResponseError);
    expect(String(error)).toContain(`generate embed token: ${problem}`);
  });
});

describe('rejected before anything is sent', () => {
  it.each<[string, string, (client: UsageApiClient) => Promise<unknown>]>([
    ['a month that does not exist', 'bad_period', (client) => client.getWorkspaceUsage({ fromPeriod: '2026-13' })],
    ['a period to that is no month', 'bad_period', (client) => client.getTenantUsage('t', { toPeriod: '2026-1' })],
    ['page 0', 'invalid_request', (client) => client.getWorkspaceUsage({ page: 0 })],
    ['101 records a page', 'invalid_request', (client) => client.getWorkspaceUsage({ perPage: 101 })],
    ['half a record a page', 'invalid_request', (client) => client.getWorkspaceUsage({ perPage: 1.5 })],
    ['an empty tenant id', 'invalid_request', (client) => client.getTenantUsage('')],
    ['the tenant id "."', 'invalid_request', (client) => client.getTenantUsage('.')],
    ['the tenant id ".."', 'invalid_request', (client) => client.getTenantUsage('..')],
    ['a tenant id with half a character', 'invalid_request', (client) => client.getTenantUsage('a\ud800')],
    ['an empty title', 'invalid_request', (client) => client.createDashboard({ title: ' ' })],
    ['no validity', 'invalid_request', (client) => client.generateEmbedToken({ dashboardId: 'd', validitySeconds: 0 })],
  ])('%s', async (_, code, call) => {
    const { service, client } = await setup([goodPage]);
    await expect(rejection(call(client))).resolves.toMatchObject({ code, retryable: false });
    expect(service.received).toEqual([]);
  });

  it('the secret over plain http to another machine', async () => {
    const { service } = await setup([goodPage]);
    for (const embedUrl of [
      'http://example.com',
      'http://127.0.0.1.example.com',
      'http://10.0.0.1',
      'http://localhost.evil',
    ]) {
      const client = clientOf(service.url, { embedUrl });
      const error = await rejection(client.generateEmbedToken({ dashboardId: 'd-1' }));
      expect(error).toMatchObject({ code: 'invalid_request' });
      expect(String(error)).toContain('embed_url is plain http');
      await client.close();
    }
  });

  it('a signature over plain http to another machine, and invalid addresses', () => {
    expect(() => clientOf('http://example.com')).toThrow('base_url is plain http to example.com');
    expect(() => clientOf('ftp://localhost')).toThrow('base_url is not an http address');
    expect(() => clientOf('https://user:pass@example.com')).toThrow('base_url contains credentials');
    expect(() => clientOf('http://localhost', { workspaceId: 'a\nb' })).toThrow('the workspace id has characters');
    for (const url of ['http://localhost:1', 'http://127.8.9.1', 'http://[::1]:1', 'https://example.com']) {
      expect(() => clientOf(url)).not.toThrow();
    }
  });
});

describe('errors of the service', () => {
  it.each([
    [400, api.BadRequestError, 'bad_request', false],
    [409, api.BadRequestError, 'bad_request', false],
    [401, api.UnauthorizedError, 'unauthorized', false],
    [403, api.ForbiddenError, 'forbidden', false],
    [404, api.NotFoundError, 'not_found', false],
    [429, api.RateLimitedError, 'rate_limited', true],
    [500, api.ServerError, 'server_error', true],
    [501, api.ServerError, 'server_error', true],
    [503, api.ServerError, 'server_error', true],
  ] as const)('%i is a $1.name', async (status, Kind, code, retryable) => {
    const { client } = await setup([failure(status, 'what\u0000 happened\nhere')], { retries: 0 });
    const error = await rejection(client.getTenantUsage('t-1'));
    expect(error).toBeInstanceOf(Kind);
    expect(error).toBeInstanceOf(api.ApiError);
    expect(error).toMatchObject({ name: Kind.name, code, retryable, status, endpoint: 'tenant usage' });
    expect(error).toMatchObject({ serverMessage: 'what happened here' });
    expect(String(error)).toContain(`tenant usage: the service answered ${status}: what happened here`);
  });

  it('cuts a long message to 300 characters', async () => {
    const { client } = await setup([failure(400, 'many words '.repeat(100))]);
    const error = await rejection(client.getWorkspaceUsage());
    expect((error as api.ApiError).serverMessage).toHaveLength(300);
  });

  it('has no service message if the body is not an envelope', async () => {
    const { client } = await setup([answer(404, '<html>', {})]);
    await expect(rejection(client.getWorkspaceUsage())).resolves.toMatchObject({ status: 404, serverMessage: null });
  });

  it('names the clock skew in a 401 if the Date header shows it', async () => {
    const date = (ms: number) => ({ date: new Date(ms).toUTCString() });
    const nowMs = 1_700_000_000_000;
    const replies = [-600_000, 90_000, 30_000].map((skew) => failure(401, 'no', date(nowMs - skew)));
    const { client } = await setup(replies, { clock: clockThat(() => nowMs) });
    const behind = await rejection(client.getWorkspaceUsage());
    expect(behind).toMatchObject({ clockSkewMs: -600_000 });
    expect((behind as api.ApiError).hint).toContain("set this machine's clock: it is 10 min behind the service's");
    const ahead = await rejection(client.getWorkspaceUsage());
    expect((ahead as api.ApiError).hint).toContain("clock: it is 90 s ahead of the service's");
    const right = await rejection(client.getWorkspaceUsage());
    expect((right as api.ApiError).hint).toContain('check api_key_id');
  });

  it('signs with the next key while one is refused, and continues with the accepted one', async () => {
    const no = failure(401, 'no');
    const yes = answer(200, page([item()]));
    const key = (name: string) => ({ apiKeyId: `ak_${name}`, secretKey: `sk_${name}_not_a_secret` });
    let keys = [key('old'), key('new')];
    const echo = failure(401, 'sk_newest_not_a_secret is no key');
    const service = await startService(no, yes, yes, no, no, yes, echo);
    const client = new api.UsageApiClient({
      baseUrl: service.url,
      embedUrl: service.url,
      workspaceId: 'ws-1',
      keys: () => keys,
    });
    onTestFinished(async () => {
      await client.close();
      await service.close();
    });
    await client.getWorkspaceUsage();
    expect(client.keyInUse).toBe('ak_new');
    await client.getWorkspaceUsage();
    expect(await rejection(client.getWorkspaceUsage())).toBeInstanceOf(api.UnauthorizedError);
    keys = [key('newest')];
    await client.getWorkspaceUsage();
    // A key that came since the client was made is as secret as the first.
    const echoed = (await rejection(client.getWorkspaceUsage())) as Error;
    expect(`${echoed.message} ${JSON.stringify(echoed)}`).toMatch(/^(?!.*sk_newest).*is no key/);
    const ids = service.received.map(({ headers }) => headers['x-api-key-id']);
    expect(ids).toEqual(['ak_old', 'ak_new', 'ak_new', 'ak_new', 'ak_old', 'ak_newest', 'ak_newest']);
  });

  it('does not follow a redirect, and names its target', async () => {
    const location = 'https://elsewhere.example/new?token=abc';
    for (const status of [301, 302, 307, 308]) {
      const { service, client } = await setup([answer(status, '', { location })]);
      const error = await rejection(client.getWorkspaceUsage());
      expect(error).toBeInstanceOf(api.RedirectedError);
      expect(error).toMatchObject({ code: 'redirected', status, retryable: false });
      expect(String(error)).toContain('to https://elsewhere.example;');
      expect(service.received).toHaveLength(1);
    }
  });

  it('never shows the secret, even if the service repeats it', async () => {
    const echo: Reply = (response) => failure(400, `bad key ${SECRET} and ${'a1'.repeat(32)}`)(response, response.req);
    const broken: Reply = answer(200, `{"token":"${SECRET}"`);
    const moved = answer(302, '', { location: `https://x.example/${SECRET}` });
    const { client } = await setup([echo, broken, moved, failure(500, SECRET), reset, silent], {
      retries: 0,
      requestTimeoutMs: 50,
    });
    for (let call = 0; call < 6; call++) {
      const error = await rejection(client.generateEmbedToken({ dashboardId: 'd-1' }));
      const text = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain('a1a1a1a1');
    }
    expect(inspect(client, { depth: 10, showHidden: true })).not.toContain(SECRET);
  });
});

describe('the raw page', () => {
  it('has the chunks of the response and the time of the request', async () => {
    let nowMs = 1_000;
    const text = JSON.stringify(page([item()]));
    const date = 'Sun, 01 Feb 2026 00:00:00 GMT';
    const { client } = await setup([answer(200, text, { date })], { clock: clockThat(() => (nowMs += 1_000)) });
    const raw = await client.fetchUsagePage({ page: 1 });
    expect(Buffer.concat(raw.body).toString()).toBe(text);
    expect(raw).toMatchObject({ serverDateMs: Date.parse(date) });
    expect(raw.receivedAtMs).toBeGreaterThan(raw.requestedAtMs);
  });

  it('is not parsed', async () => {
    const { client } = await setup([answer(200, 'not JSON')]);
    expect(String(Buffer.concat((await client.fetchUsagePage({})).body))).toBe('not JSON');
  });

  it('is decoded if the service compresses it', async () => {
    const text = JSON.stringify(page([item()]));
    const { client } = await setup([answer(200, gzipSync(text), { 'content-encoding': 'gzip' })]);
    const raw = await client.fetchUsagePage({});
    expect(Buffer.concat(raw.body).toString()).toBe(text);
  });

  it('is rejected beyond 32 MiB, compressed or not', async () => {
    expect(api.MAX_BODY_BYTES).toBe(32 * 1024 * 1024);
    const bomb = gzipSync(Buffer.alloc(33 * 1024 * 1024));
    const { service, client } = await setup([answer(200, bomb, { 'content-encoding': 'gzip' })]);
    const error = await rejection(client.fetchUsagePage({}));
    expect(error).toBeInstanceOf(api.InvalidResponseError);
    expect(String(error)).toContain('longer than 33554432 bytes');
    service.replies = [answer(200, 'x'.repeat(1001))];
    const small = clientOf(service.url, { maxBodyBytes: 1000 });
    releasers.push(() => small.close());
    await expect(rejection(small.fetchUsagePage({}))).resolves.toMatchObject({ code: 'invalid_response' });
    service.replies = [answer(200, 'x'.repeat(1000))];
    expect(Buffer.concat((await small.fetchUsagePage({})).body).byteLength).toBe(1000);
  });

  it('is rejected in an encoding that was not requested', async () => {
    for (const encoding of ['br', 'gzip']) {
      const { client } = await setup([answer(200, 'plain text', { 'content-encoding': encoding })]);
      await expect(rejection(client.fetchUsagePage({}))).resolves.toMatchObject({ code: 'invalid_response' });
    }
  });
});

describe('closing', () => {
  it('may happen twice, and later calls fail with client_closed', async () => {
    const { service, client } = await setup([goodPage]);
    await client.getWorkspaceUsage();
    await client.close();
    await client.close();
    await expect(rejection(client.getWorkspaceUsage())).resolves.toMatchObject({ code: 'client_closed' });
    expect(service.received).toHaveLength(1);
  });

  it('waits for a pending call', async () => {
    const held: (() => void)[] = [];
    const { client } = await setup([(response, request) => held.push(() => goodPage(response, request))]);
    const call = client.getWorkspaceUsage();
    await expect.poll(() => held.length).toBe(1);
    const closed = client.close();
    held[0]?.();
    await expect(call).resolves.toMatchObject({ total_records: 1 });
    await closed;
  });
});
