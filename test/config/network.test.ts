import { join } from 'node:path';
import { expect, test } from 'vitest';
import { secretsOf } from '../../src/config/reading/secrets.ts';
import { privateAuthority } from '../support/net/self-signed.ts';
import { configCases, WORKSPACE } from './config-cases.ts';

const cases = configCases();
const { load, faultsOf } = cases;
const TOKEN = 'a-token-of-24-characters';

test('the proxy is that of the setting, else of HTTPS_PROXY; its exceptions are those of NO_PROXY', async () => {
  const text = `workspaces:${WORKSPACE}`;
  const env = { HTTPS_PROXY: 'http://u:pw-of-proxy@proxy.example:3128', NO_PROXY: '.internal' };
  expect((await load(text)).proxy).toBeNull();
  expect((await load(text, { HTTP_PROXY: 'http://proxy.example:3128' })).proxy).toBeNull();
  const config = await load(text, env);
  expect(config.proxy).toEqual({ url: env.HTTPS_PROXY, noProxy: '.internal' });
  expect(secretsOf(config)).toContain('pw-of-proxy');
  expect((await load(text, { ...env, https_proxy: 'http://small:1', no_proxy: '*' })).proxy).toEqual({
    url: 'http://small:1',
    noProxy: '*',
  });
  expect((await load(`proxy: https://own:8443\n${text}`, env)).proxy).toEqual({
    url: 'https://own:8443',
    noProxy: '.internal',
  });
  expect((await load(`proxy: none\n${text}`, { HTTPS_PROXY: 'rubbish' })).proxy).toBeNull();
  expect(await faultsOf(`proxy: socks5://own:1080\n${text}`)).toEqual(['proxy: is not an http:// or https:// address']);
  expect(await faultsOf(text, { HTTPS_PROXY: 'proxy.example' })).toEqual(['HTTPS_PROXY: is not an address']);
});

test('the certificates of a ca_file count for its workspace or channel, those of defaults for the other workspaces', async () => {
  const { ca } = privateAuthority();
  const other = privateAuthority().ca;
  cases.write('ca.pem', `of our own\n${ca}`);
  cases.write('other.pem', other);
  const config = await load(`
defaults: { ca_file: ./ca.pem }
workspaces:${WORKSPACE}${WORKSPACE.replace('ws-1', 'ws-2')}    ca_file: ${join(cases.cwd, 'other.pem')}
alerts:
  channels:
    - { type: log }
    - { type: webhook, url: https://example.com/hook, ca_file: ./other.pem }
`);
  expect(config.workspaces.map((workspace) => workspace.ca)).toEqual([ca.trim(), other.trim()]);
  expect(config.alerts.channels[1]).toMatchObject({ ca: other.trim() });
});

test('a ca_file that is missing, empty of certificates or broken is a fault of its setting', async () => {
  cases.write('none.pem', 'nothing\n');
  cases.write('broken.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  expect(
    await faultsOf(`
defaults: { ca_file: ./gone.pem }
workspaces:${WORKSPACE}    ca_file: ./none.pem
alerts:
  channels: [{ type: slack, url: https://example.com/hook, ca_file: ./broken.pem }]
`),
  ).toEqual([
    'alerts.channels[0].ca_file: names a file with a certificate that cannot be read',
    'defaults.ca_file: names a file that cannot be read (it does not exist)',
    'workspaces[0].ca_file: names a file without a certificate in PEM',
  ]);
});

test('without http.token the daemon makes one, beside the ledger or where http.token_file says', async () => {
  const http = async (settings: string) => (await load(`http: { ${settings} }\nworkspaces:${WORKSPACE}`)).http;
  expect(await http('host: 0.0.0.0')).toMatchObject({
    token: null,
    tokenFile: join(cases.cwd, 'data/ledger.db.token'),
  });
  expect(await http('token_file: keys/pages')).toMatchObject({ token: null, tokenFile: join(cases.cwd, 'keys/pages') });
  expect(await http(`token: ${TOKEN}`)).toMatchObject({ token: TOKEN, metrics: 'token' });
  expect((await http('metrics: open')).metrics).toBe('open');
});
