import { expect, test } from 'vitest';
import { secretsOf } from '../../src/config/reading/secrets.ts';
import { configCases, WORKSPACE } from './config-cases.ts';

const cases = configCases();
const { load, faultsOf } = cases;
const OIDC = 'issuer: https://login.example.com/, client_id: ledger, roles: { read: [staff] }';
const PROXY = 'user_header: X-Forwarded-User, roles: { read: [staff] }';

const httpOf = async (settings: string) => (await load(`http: { ${settings} }\nworkspaces:${WORKSPACE}`)).http;
const faults = (settings: string) => faultsOf(`http: { ${settings} }\nworkspaces:${WORKSPACE}`);

test('http.oidc names a provider, a client and the groups of each role; its secret is redacted and may be in a file', async () => {
  expect((await httpOf(`oidc: { ${OIDC} }`)).oidc).toEqual({
    issuer: 'https://login.example.com/',
    clientId: 'ledger',
    clientSecret: null,
    scopes: ['openid', 'profile', 'email'],
    nameClaim: 'name',
    roles: { claim: 'groups', finance: [], operate: [], read: ['staff'] },
    ca: null,
  });
  cases.write('client.txt', 'the-secret-of-the-client\n');
  const config = await load(
    `http: { oidc: { ${OIDC}, scopes: [groups], client_secret_file: client.txt } }\nworkspaces:${WORKSPACE}`,
  );
  expect(config.http.oidc).toMatchObject({ clientSecret: 'the-secret-of-the-client', scopes: ['openid', 'groups'] });
  expect(secretsOf(config)).toContain('the-secret-of-the-client');
});

test('http.oidc without TLS, without a role for anybody, or on a public address without public_url is refused', async () => {
  expect(
    (await httpOf(`oidc: { ${OIDC.replace('https://login.example.com', 'http://127.0.0.1:9')} }`)).oidc,
  ).toBeTruthy();
  expect(await faults(`oidc: { ${OIDC.replace('https', 'http')} }`)).toEqual([
    'http.oidc.issuer: uses http:// to another machine, which would show secrets to the network',
  ]);
  expect(await faults(`oidc: { ${OIDC.replace('[staff]', '[]')} }`)).toEqual(['http.oidc.roles: gives nobody a role']);
  expect(await faults(`oidc: { ${OIDC}, scopes: ['a b'] }`)).toEqual([
    'http.oidc.scopes[0]: is not the name of a scope',
  ]);
  expect(await faults(`host: 0.0.0.0, oidc: { ${OIDC} }`)).toEqual([
    'http.public_url: is missing, but the sign-in provider sends people back to it',
  ]);
  expect((await httpOf(`host: 0.0.0.0, public_url: https://u.example, oidc: { ${OIDC} }`)).oidc).toBeTruthy();
});

test('http.proxy_sign_in trusts this machine or listed networks, never every address', async () => {
  expect((await httpOf(`proxy_sign_in: { ${PROXY} }`)).proxySignIn).toEqual({
    userHeader: 'x-forwarded-user',
    groupsHeader: 'x-forwarded-groups',
    trustedAddresses: [],
    roles: { finance: [], operate: [], read: ['staff'] },
  });
  expect(await faults(`host: 0.0.0.0, proxy_sign_in: { ${PROXY} }`)).toEqual([
    'http.proxy_sign_in.trusted_addresses: is empty, but http.host can be reached from other machines, which could all send the headers',
  ]);
  const listed = (addresses: string) => `host: 0.0.0.0, proxy_sign_in: { ${PROXY}, trusted_addresses: [${addresses}] }`;
  expect((await httpOf(listed("10.0.0.5, 10.1.0.0/24, 'fd00::/8'"))).proxySignIn?.trustedAddresses).toHaveLength(3);
  expect(await faults(listed("0.0.0.0/0, '::/0', proxy.example, 10.0.0.0/33"))).toEqual([
    'http.proxy_sign_in.trusted_addresses[0]: is every address, which would let anybody sign in as anybody',
    'http.proxy_sign_in.trusted_addresses[1]: is every address, which would let anybody sign in as anybody',
    'http.proxy_sign_in.trusted_addresses[2]: is neither an IP address nor a network such as 10.0.0.0/24',
    'http.proxy_sign_in.trusted_addresses[3]: is neither an IP address nor a network such as 10.0.0.0/24',
  ]);
  expect(await faults(`proxy_sign_in: { ${PROXY.replace('X-Forwarded-User', 'X User')} }`)).toEqual([
    'http.proxy_sign_in.user_header: is not the name of a header: letters, digits and -',
  ]);
});
