import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ConfigError } from '../../src/core/errors.ts';
import { describeSandbox, startSandbox } from '../../src/sandbox/server.ts';
import { checkScenario, loadScenario, parseScenario } from '../../src/sandbox/world/scenario.ts';
import { scenarioWith } from './client.ts';

const FILE = 'scenario.yml';

function faultsOf(text: string): ConfigError {
  try {
    parseScenario(text, FILE);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the scenario was accepted');
}

describe('a scenario file', () => {
  it('is read from YAML with its defaults and exact integers', () => {
    const scenario = parseScenario(
      `
workspaces:
  - id: ws-1
    api_key_id: ak_1
    secret_key: sk_1_not_a_secret
    usage:
      - {tenant_id: t, period: 2026-01, credits_used: 9223372036854775807, request_count: 3}
    generate: {tenants: 10, jumps: [{tenant: acme-robotics, factor: 3, after: 2026-02-20T08:00:00Z}]}
`,
      FILE,
    );
    expect(scenario.signing).toEqual({
      payload: '{workspace_id}{valid_until}',
      encoding: 'hex',
      valid_until: 'unix_seconds',
      valid_for_seconds: 300,
    });
    const [workspace] = scenario.workspaces;
    expect(workspace?.usage).toEqual([
      { tenant_id: 't', period: '2026-01', credits_used: 9223372036854775807n, request_count: 3 },
    ]);
    expect(workspace?.generate).toMatchObject({ tenants: 10, months: 6, open_month: 'by_clock' });
    expect(workspace?.generate?.jumps[0]).toMatchObject({
      tenant: 'acme-robotics',
      period: 'current',
      requests_factor: 1,
    });
  });

  it('is read from JSON as well', () => {
    const folder = mkdtempSync(join(tmpdir(), 'scenario-'));
    try {
      const file = join(folder, 'scenario.json');
      writeFileSync(file, JSON.stringify(scenarioWith({ generate: { tenants: 5 } })));
      expect(loadScenario(file).workspaces[0]?.generate?.tenants).toBe(5);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is refused with every mistake, its path and the remedy', () => {
    const error = faultsOf(`
workspaces:
  - id: ws-1
    api_key_id: ak_1
    colour: red
    usage:
      - {tenant_id: t, period: 2026-13, credits_used: -1, request_count: 9223372036854775808}
      - {tenant_id: u, period: 2026-01, credits_used: 1, request_count: 1}
      - {tenant_id: u, period: 2026-01, credits_used: 2, request_count: 1}
    generate: {tenants: 2, jumps: [{tenant: 2, factor: 3}, {tenant: nobody, factor: 1, after: soon, after_seconds: 1}]}
  - {id: ws-1, api_key_id: ak_1, secret_key: s, order: random}
signing: {payload: '{workspace_id}{nonce}', encoding: hexadecimal}
latency_ms: 1.5
`);
    expect(error.file).toBe(FILE);
    expect(error.faults.map((fault) => fault.path).sort()).toEqual(
      [
        'latency_ms',
        'signing.encoding',
        'signing.payload',
        'workspaces[0].colour',
        'workspaces[0].generate.jumps[0].tenant',
        'workspaces[0].generate.jumps[1]',
        'workspaces[0].generate.jumps[1].after',
        'workspaces[0].generate.jumps[1].tenant',
        'workspaces[0].secret_key',
        'workspaces[0].usage[0].credits_used',
        'workspaces[0].usage[0].period',
        'workspaces[0].usage[0].request_count',
        'workspaces[0].usage[2]',
        'workspaces[1].api_key_id',
        'workspaces[1].id',
        'workspaces[1].order',
      ].sort(),
    );
    for (const fault of error.faults) {
      expect(fault.message).not.toBe('');
      expect(fault.hint).not.toBe('');
    }
  });

  it.each([
    ['workspaces: [', 'line 1'],
    ['', '(whole file)'],
    ['- 1', '(whole file)'],
    ['workspaces: []', 'workspaces'],
  ])('is refused when it reads %j', (text, path) => {
    expect(faultsOf(text).faults.map((fault) => fault.path)).toContain(path);
  });

  it('is refused when it cannot be read', () => {
    expect(() => loadScenario(join(tmpdir(), 'no-such-folder', 'scenario.yml'))).toThrow(ConfigError);
  });

  it('never repeats a secret in its faults', () => {
    const error = faultsOf('workspaces: [{id: 1, secret_key: sk_hidden_not_a_secret, api_key_id: []}]');
    expect(error.message).not.toContain('sk_hidden');
  });
});

describe('starting', () => {
  it('serves the default scenario: 50 tenants over six months', async () => {
    const sandbox = await startSandbox();
    try {
      expect([...sandbox.workspaces.keys()]).toEqual(['ws-sandbox']);
      expect(sandbox.workspace().rows()).toHaveLength(300);
      expect(() => sandbox.workspace('ws-none')).toThrow('ws-none');
    } finally {
      await sandbox.close();
    }
  });

  it('tells the operator a workspace entry to paste', async () => {
    const sandbox = await startSandbox({ scenario: scenarioWith({}, { signing: { encoding: 'base64' } }) });
    try {
      expect(parse(describeSandbox(sandbox).join('\n'))).toEqual({
        workspaces: [
          {
            id: 'ws-1',
            base_url: sandbox.url,
            embed_url: sandbox.url,
            api_key_id: 'ak_test',
            secret_key: 'sk_test_not_a_secret',
            signing: {
              payload: '{workspace_id}{valid_until}',
              encoding: 'base64',
              valid_until: 'unix_seconds',
              valid_for_seconds: 300,
            },
          },
        ],
      });
    } finally {
      await sandbox.close();
    }
  });

  it('says which port is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = holder.address() as AddressInfo;
      await expect(startSandbox({ port })).rejects.toMatchObject({
        code: 'sandbox_port',
        message: expect.stringContaining(String(port)),
      });
    } finally {
      holder.close();
    }
  });

  it('holds 100,000 tenants over 12 months and finds any page of them', async () => {
    const generate = { tenants: 100_000, months: 12 };
    const sandbox = await startSandbox({ scenario: checkScenario(scenarioWith({ generate })) });
    try {
      let seen = 0;
      const query = { from: null, to: null, tenantId: null, offset: 1_199_950, limit: 100 };
      expect(sandbox.workspace().read(query, () => (seen += 1)).total).toBe(1_200_000);
      expect(seen).toBe(50);
    } finally {
      await sandbox.close();
    }
  });
});
