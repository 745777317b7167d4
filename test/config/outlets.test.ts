import { expect, test } from 'vitest';
import { secretsOf } from '../../src/config/reading/secrets.ts';
import { configCases, WORKSPACE } from './config-cases.ts';

const cases = configCases();

const load = (outlet: string) => cases.load(`workspaces:${WORKSPACE}\noutlets: [{ name: billing, ${outlet} }]\n`);
const faultsOf = (outlet: string) =>
  cases.faultsOf(`workspaces:${WORKSPACE}\noutlets: [{ name: billing, ${outlet} }]\n`);

const COMMON = {
  name: 'billing',
  workspaces: null,
  customer: 'tenant_id',
  send: 'credits',
  fromPeriod: null,
  allowPrivate: false,
  timeoutMs: 30_000,
};

test.each([
  ['stripe', 'mtr_1', 'https://api.stripe.com'],
  ['metronome', 'metric-1', 'https://api.metronome.com'],
  ['lago', 'credits', 'https://api.getlago.com/api/v1'],
])('%s has the address of its service, a token and a meter', async (type, meter, url) => {
  const config = await load(`type: ${type}, token: secret-1, meter: ${meter}`);
  expect(config.outlets).toEqual([{ ...COMMON, type, url, token: 'secret-1', meter }]);
  expect(secretsOf(config)).toContain('secret-1');
});

test('openmeter has an address of its own, and asks for a token or for none', async () => {
  const config = await load('type: openmeter, url: https://meter.example.com/, meter: credits');
  expect(config.outlets).toEqual([
    { ...COMMON, type: 'openmeter', url: 'https://meter.example.com', token: null, meter: 'credits' },
  ]);
  expect(secretsOf(config)).toEqual(['sk_one']);
  const other = await load('type: openmeter, url: https://meter.example.com, meter: credits, token: secret-1');
  expect(secretsOf(other)).toContain('secret-1');
});

test('a token may stand in a file', async () => {
  cases.write('stripe.key', 'sk_live_1\n', 0o600);
  const { outlets } = await load('type: stripe, token_file: ./stripe.key, meter: mtr_1');
  expect(outlets).toMatchObject([{ token: 'sk_live_1' }]);
});

test('what is missing is named', async () => {
  expect(await faultsOf('type: stripe')).toEqual(['outlets[0].meter: is missing', 'outlets[0].token: is missing']);
  expect(await faultsOf('type: openmeter, meter: credits')).toEqual(['outlets[0].url: is missing']);
  expect(await faultsOf('type: lago, token: a, meter: b, url: "http://lago.internal/api/v1"')).toEqual([
    expect.stringContaining('uses http:// to another machine'),
  ]);
});
