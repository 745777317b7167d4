import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { UsageApiClient } from '../../../src/usage-api/client.ts';
import * as api from '../../../src/usage-api/public.ts';
import { rejection } from '../../support/rejection.ts';
import { releaseAfterEach, setup } from '../client-setup.ts';
import { answer, type Reply, SECRET } from '../service-double.ts';

releaseAfterEach();

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const LOGIN = `<!doctype html><html><head><title>Sign in &amp; continue</title><style>b{}</style></head>
<body><form action="/session"><input name="u"><input type="password" name="p"></form></body></html>`;
const NGINX = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>';
const CLOUDFLARE = '<!DOCTYPE html><title>Just a moment...</title><body>Enable JavaScript and cookies</body>';
const CAPTIVE = '<html><body><h1>Welcome to Hotel Wi-Fi</h1>Accept the terms</body></html>';
const CALLS: [api.EndpointLabel, (client: UsageApiClient) => Promise<unknown>][] = [
  ['workspace usage', (client) => client.getWorkspaceUsage()],
  ['tenant usage', (client) => client.getTenantUsage('t-1')],
  ['create dashboard', (client) => client.createDashboard({ title: 'T' })],
  ['generate embed token', (client) => client.generateEmbedToken({ dashboardId: 'd-1' })],
];

async function errorOf(reply: Reply, call = CALLS[0]?.[1] as (client: UsageApiClient) => Promise<unknown>) {
  const { client } = await setup([reply], { retries: 0 });
  return (await rejection(call(client))) as api.ApiError;
}

describe('a 2xx response that is not from the API', () => {
  it.each<[string, Reply, string, RegExp]>([
    [
      'a login page',
      answer(200, LOGIN, HTML),
      'a login page (status 200, text/html; charset=utf-8) that begins "Sign in & continue"',
      /set base_url to the address of the API/,
    ],
    [
      'a login page labelled as JSON',
      answer(200, LOGIN),
      'a login page (status 200, application/json)',
      /asks for a login/,
    ],
    [
      'a page that sends to a login',
      answer(200, '<script>window.location = "/login?next=x"</script>', HTML),
      'a login page',
      /base_url/,
    ],
    ['an empty body', answer(200, ''), 'an empty body (status 200, application/json)', /check base_url/],
    [
      'nothing',
      (response) => response.writeHead(204).end(),
      'an empty body (status 204, no content type)',
      /check base_url/,
    ],
    [
      "a proxy's error",
      answer(200, NGINX, HTML),
      'an error page of a proxy or load balancer (status 200, text/html; charset=utf-8) that begins "502 Bad Gateway"',
      /service behind the proxy/,
    ],
    [
      'a bot check',
      answer(200, CLOUDFLARE, HTML),
      'the page of a firewall or bot check',
      /let API requests from this machine pass/,
    ],
    [
      'a captive portal',
      answer(200, CAPTIVE, HTML),
      'the login page of a network (captive portal) (status 200, text/html; charset=utf-8) that begins "Welcome to Hotel Wi-Fi',
      /log this machine in/,
    ],
    [
      'plain text',
      answer(200, 'pong', { 'content-type': 'text/plain' }),
      'plain text (status 200, text/plain) that begins "pong"',
      /the API answers in JSON/,
    ],
    [
      'truncated JSON',
      answer(200, '{"success":true,"data":{"usage":[{"a":"'),
      `truncated JSON after 39 bytes (status 200, application/json) that begins '{"success":true`,
      /proxy on the way/,
    ],
    ['JSON with a mistake', answer(200, '{"success":true,}'), 'JSON with a syntax error', /service operator/],
    [
      'gzip that nobody announced',
      answer(200, gzipSync('{}')),
      'compressed data without the header Content-Encoding',
      /proxy on the way/,
    ],
    [
      'XML',
      answer(200, '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', { 'content-type': 'application/xml' }),
      'XML (status 200, application/xml) that begins "NoSuchKey"',
      /another API/,
    ],
  ])('is called what it is: %s', async (_, reply, text, hint) => {
    const error = await errorOf(reply);
    expect(error).toMatchObject({ code: 'invalid_response', retryable: true });
    expect(error.message).toContain(' (page 1): ');
    expect(error.message).toContain(text);
    expect(error.hint).toMatch(hint);
  });

  it('names the fields of JSON of another API', async () => {
    const error = await errorOf(answer(200, { status: 'ok', error: { message: 'no route' }, a: 1, b: 2 }));
    expect(error.message).toBe(
      'workspace usage: success is missing (page 1): JSON with "status": "ok", "error": "no route", "a": 1 and 1 more field (status 200, application/json)',
    );
    expect(error.hint).toMatch(/another API/);
  });

  it('describes a body that is labelled gzip but is not', async () => {
    const error = await errorOf(answer(200, LOGIN, { ...HTML, 'content-encoding': 'gzip' }));
    expect(error.message).toMatch(/labelled gzip but is not: a login page \(status 200, text\/html/);
  });
});

describe.each(CALLS)('%s', (endpoint, call) => {
  it('recognizes a login page and names the setting', async () => {
    const error = await errorOf(answer(200, LOGIN, HTML), call);
    expect(error.message).toMatch(
      new RegExp(`^${endpoint}: the response is not JSON.*: a login page \\(status 200, text/html`),
    );
    expect(error.hint).toContain(endpoint === 'generate embed token' ? 'embed_url' : 'base_url');
  });

  it.each([
    [401, LOGIN, 'a login page'],
    [403, CLOUDFLARE, 'the page of a firewall or bot check'],
    [404, '<html><h1>Not Found</h1></html>', 'a web page'],
    [502, NGINX, 'an error page of a proxy or load balancer'],
    [503, 'upstream connect error', 'an error text of a proxy or load balancer'],
  ])('says after status %i what the body is, and keeps the code of the status', async (status, body, text) => {
    const error = await errorOf(answer(status, body, HTML), call);
    expect(error).toMatchObject({ status, serverMessage: null });
    expect(error.code).toBe({ 401: 'unauthorized', 403: 'forbidden', 404: 'not_found' }[status] ?? 'server_error');
    expect(error.message).toContain(`${endpoint}: the service answered ${status}: ${text} (text/html; charset=utf-8)`);
  });

  it('keeps the remedy of the status for an empty body and JSON of another form', async () => {
    const empty = await errorOf(answer(401, ''), call);
    expect(empty.message).toBe(`${endpoint}: the service answered 401: an empty body (application/json)`);
    expect(empty.hint).toContain('secret_key');
    const other = await errorOf(answer(404, { detail: 'Not Found' }), call);
    expect(other.message).toContain('the service answered 404: JSON with "detail"');
  });
});

describe('a quoted body', () => {
  it('contains no secrets, control characters or markup, and is short', async () => {
    const bold = '\u001b[1m';
    const html = `<b>${bold}Hello</b> &lt;script&gt; ${SECRET} ${'ab'.repeat(40)} ${SECRET.replace('_', '&#95;')} ${'word '.repeat(500)}`;
    const { message } = await errorOf(answer(200, html, HTML));
    expect(message).toMatch(/Hello script \[redacted\]/);
    expect(message).not.toContain(SECRET);
    expect(message).not.toMatch(/[\p{Cc}<>]|abab/u);
    expect(message.length).toBeLessThan(300);
  });

  it('is empty for a token response that may contain the token', async () => {
    const call = CALLS[3]?.[1];
    for (const body of ['{"success":true,"data":{"token":"tok_short"', 'tok_short', { token: 'tok_short' }]) {
      expect((await errorOf(answer(200, body), call)).message).not.toContain('tok_short');
    }
  });

  it('is empty without a redactor', () => {
    const where = { page: 1, workspaceId: 'ws-1', status: 200, contentType: 'text/plain' };
    expect(() => api.parseUsagePage(Buffer.from('pong'), where)).toThrow(/plain text \(status 200, text\/plain\)$/);
  });
});
