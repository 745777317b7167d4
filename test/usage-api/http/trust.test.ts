import { expect, onTestFinished, test } from 'vitest';
import type { UsageApiClient, UsageApiClientOptions } from '../../../src/usage-api/client.ts';
import { startConnectProxy, startTlsServer } from '../../support/net/connect-proxy.ts';
import { privateAuthority } from '../../support/net/self-signed.ts';
import { rejection } from '../../support/rejection.ts';
import { clientOf, item, page, startService } from '../service-double.ts';

const PAGE = JSON.stringify(page([item()]));
/** A name that no resolver knows: only the proxy leads there. */
const HOST = 'service.test';

function open(url: string, options: Partial<UsageApiClientOptions>): UsageApiClient {
  const client = clientOf(url, { retries: 0, ...options });
  onTestFinished(() => client.close());
  return client;
}

test('a service is read through the tunnel of a proxy, which sees neither path nor signature', async () => {
  const { ca, server } = privateAuthority(HOST);
  const { port, paths } = await startTlsServer(server, PAGE);
  const proxy = await startConnectProxy(port);
  const settings = { url: proxy.url.replace('//', '//user:pass%20word@'), noProxy: '' };
  const client = open(`https://${HOST}`, { ca, proxy: settings });
  expect((await client.getWorkspaceUsage()).usage).toHaveLength(1);
  await rejection(client.getTenantUsage('t-1'));
  expect(paths).toEqual([
    '/api/v1/external/workspaces/ws-1/tenant-usage',
    '/api/v1/external/workspaces/ws-1/tenant-usage/t-1',
  ]);
  const [tunnel] = proxy.tunnels;
  expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(new Set([`${HOST}:443`]));
  expect(tunnel?.headers['proxy-authorization']).toBe(`Basic ${Buffer.from('user:pass word').toString('base64')}`);
  expect(Object.keys(tunnel?.headers ?? {})).not.toContain('x-signature');
});

test('hosts of NO_PROXY and this machine are reached without the proxy', async () => {
  const { ca, server } = privateAuthority();
  const { port } = await startTlsServer(server, PAGE);
  const proxy = await startConnectProxy(port);
  const local = open(`https://localhost:${port}`, { ca, proxy: { url: proxy.url, noProxy: '' } });
  expect((await local.getWorkspaceUsage()).usage).toHaveLength(1);
  const direct = open(`https://${HOST}`, { ca, proxy: { url: proxy.url, noProxy: `.other,${HOST}` } });
  expect(await rejection(direct.getWorkspaceUsage())).toMatchObject({ code: 'network' });
  expect(proxy.tunnels).toEqual([]);
});

test('an error describes in words, with its code, why a connection failed', async () => {
  const { server } = privateAuthority();
  const { port } = await startTlsServer(server, PAGE);
  const untrusted = await rejection(open(`https://localhost:${port}`, {}).getWorkspaceUsage());
  expect(untrusted.message).toMatch(
    /^workspace usage: the connection failed: the \w.* not in `ca_file` .*\([A-Z_]+\)$/,
  );
  const absent = await rejection(open('http://127.0.0.1:9', {}).getWorkspaceUsage());
  expect(absent.message).toBe('workspace usage: the connection failed: connection refused (ECONNREFUSED)');
  const plain = await startService((response) => response.end(PAGE));
  onTestFinished(plain.close);
  const noTls = await rejection(open(plain.url.replace('http:', 'https:'), {}).getWorkspaceUsage());
  expect(noTls.message).toContain(
    'the connection failed: the server does not speak TLS (ERR_SSL_WRONG_VERSION_NUMBER)',
  );
  const { url, close } = await startService((response) => {
    response.writeHead(200, Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`x-${at}`, 'x'.repeat(1000)])));
    response.end(PAGE);
  });
  onTestFinished(close);
  const much = await rejection(open(url, {}).getWorkspaceUsage());
  expect(much.message).toContain('the response headers are too large (');
});
