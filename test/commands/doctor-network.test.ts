import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startMailServer } from '../alerts/channels/mail-server.ts';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { startConnectProxy, startTlsServer } from '../support/net/connect-proxy.ts';
import { privateAuthority } from '../support/net/self-signed.ts';
import { type Check, examine } from './examine.ts';
import { createWorld, FIRST, type World, workspaceSettings } from './world.ts';

const EMPTY_PAGE = JSON.stringify({
  success: true,
  data: { workspace_id: 'ws-1', usage: [], total_records: 0, total_pages: 0 },
});

describe('the way to the service', () => {
  it('is tested with the private CA of the workspace, which is named when it is missing', async () => {
    const { ca, server } = privateAuthority();
    const { port } = await startTlsServer(server, EMPTY_PAGE);
    const world = await createWorld(FIRST);
    const url = `https://localhost:${port}`;
    const workspace = { ...workspaceSettings(world.sandbox, FIRST), base_url: url, embed_url: url };
    world.configure({ workspaces: [workspace], http: { port: 0 } });
    expect((await examine(world)).checks).toContainEqual(
      expect.objectContaining({ check: 'service', status: 'fail', remedy: expect.stringContaining('ca_file') }),
    );
    writeFileSync(join(world.folder, 'our-ca.pem'), ca);
    world.configure({ workspaces: [{ ...workspace, ca_file: './our-ca.pem' }], http: { port: 0 } });
    expect((await examine(world)).checks).toContainEqual(
      expect.objectContaining({ check: 'service', status: 'ok', message: expect.stringContaining('0 records') }),
    );
  });

  it.each([
    [
      'fractions',
      EMPTY_PAGE.replace('"total_records":0', '"total_records":1.5'),
      'report this to the service operator',
    ],
    [
      'bad Unicode',
      Buffer.concat([Buffer.from(EMPTY_PAGE.slice(0, -1)), Buffer.from([0xff, 0x7d])]),
      'report this to the service operator',
    ],
    ['no JSON', '<html>Sign in</html>', 'set base_url to the address of the API'],
  ])('is not blamed when the service answers with %s: the remedy is for its operator', async (_what, body, remedy) => {
    const service = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1');
    await once(service, 'listening');
    onTestFinished(() => void service.close());
    const world = await createWorld(FIRST);
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const workspace = { ...workspaceSettings(world.sandbox, FIRST), base_url: url, embed_url: url };
    world.configure({ workspaces: [workspace], http: { port: 0 } });
    expect((await examine(world)).checks.filter(({ check }) => check === 'service')).toMatchObject([
      { status: 'fail', remedy: expect.stringContaining(remedy) },
    ]);
  });

  it('goes through the proxy, and a rejecting proxy is named as the cause', async () => {
    const { ca, server } = privateAuthority('service.test');
    const { port } = await startTlsServer(server, EMPTY_PAGE);
    const world = await createWorld(FIRST);
    const url = 'https://service.test';
    const workspace = { ...workspaceSettings(world.sandbox, FIRST), base_url: url, embed_url: url, ca_file: 'ca.pem' };
    writeFileSync(join(world.folder, 'ca.pem'), ca);
    world.configure({ workspaces: [workspace], http: { port: 0 } });
    const proxy = await startConnectProxy(port);
    expect((await examine(world, { HTTPS_PROXY: proxy.url })).checks).toContainEqual(
      expect.objectContaining({ check: 'service', status: 'ok' }),
    );
    const refusing = await startConnectProxy(port, 407);
    const { code, checks } = await examine(world, { HTTPS_PROXY: refusing.url });
    expect(code).toBe(4);
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'service', status: 'fail', remedy: expect.stringContaining('proxy') }),
    );
  });
});

describe('the receiver of a channel', () => {
  async function worldWith(...channels: object[]): Promise<World> {
    const world = await createWorld(FIRST);
    world.configure({
      workspaces: [workspaceSettings(world.sandbox, FIRST)],
      http: { port: 0 },
      alerts: { channels },
    });
    return world;
  }
  const ofChannels = ({ checks }: { checks: Check[] }) => checks.filter(({ check }) => check === 'channel');

  it('is connected to without sending a message', async () => {
    const receiver = await startReceiver((response) => response.end());
    onTestFinished(receiver.close);
    const mail = await startMailServer();
    const email = { type: 'email', name: 'mail', host: '127.0.0.1', port: mail.port, allow_private: true };
    const world = await worldWith(
      { type: 'webhook', name: 'hook', url: `${receiver.url}/tok-en`, allow_private: true },
      { ...email, from: 'a@example.com', to: ['b@example.com'] },
    );
    const { code, ...found } = await examine(world);
    expect(code).toBe(0);
    expect(ofChannels(found)).toMatchObject([
      {
        subject: 'hook',
        status: 'ok',
        message: expect.stringMatching(/^127\.0\.0\.1:\d+ answers; .*alerts test hook/),
      },
      { subject: 'mail', status: 'ok', message: expect.stringContaining(`127.0.0.1:${mail.port} answers`) },
    ]);
    expect(receiver.received).toEqual([]);
    expect(mail.taken).toEqual([]);
    expect(JSON.stringify(found)).not.toContain('tok-en');
  });

  it('that is silent or rejects the login fails with its address and a remedy', async () => {
    const gone = await startReceiver((response) => response.end());
    await gone.close();
    const mail = await startMailServer({ onAuth: (_auth, _session, callback) => callback(new Error('no')) });
    const email = { type: 'email', name: 'mail', host: '127.0.0.1', port: mail.port, allow_private: true };
    const login = { user: 'someone', password: 'pass_not_a_secret', from: 'a@example.com', to: ['b@example.com'] };
    const world = await worldWith(
      { type: 'webhook', name: 'hook', url: gone.url, allow_private: true },
      { ...email, ...login },
    );
    const { code, ...found } = await examine(world);
    expect(code).toBe(4);
    expect(ofChannels(found)).toMatchObject([
      {
        ...{ subject: 'hook', status: 'fail', remedy: expect.stringContaining('check the address') },
        message: expect.stringMatching(
          /^127\.0\.0\.1:\d+: the connection failed: connection refused \(ECONNREFUSED\)$/,
        ),
      },
      { subject: 'mail', status: 'fail', message: expect.stringContaining('refused the login') },
    ]);
  });

  it('is reached through the proxy, and a rejecting proxy is named as the cause', async () => {
    const { ca, server } = privateAuthority('hooks.test');
    const { port, paths } = await startTlsServer(server, '');
    const world = await worldWith({ type: 'slack', name: 'talk', url: 'https://hooks.test/T/B/x', ca_file: 'ca.pem' });
    writeFileSync(join(world.folder, 'ca.pem'), ca);
    const proxy = await startConnectProxy(port);
    expect(ofChannels(await examine(world, { HTTPS_PROXY: proxy.url }))).toMatchObject([{ status: 'ok' }]);
    expect(proxy.tunnels.map(({ target }) => target)).toEqual(['hooks.test:443']);
    expect(paths).toEqual([]);
    const refusing = await startConnectProxy(port, 403);
    expect(ofChannels(await examine(world, { HTTPS_PROXY: refusing.url }))).toMatchObject([
      { status: 'fail', remedy: expect.stringContaining('proxy does not let it through') },
    ]);
  });
});
