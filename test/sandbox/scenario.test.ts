import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ConfigError } from '../../src/core/errors.ts';
import { describeSandbox, startSandbox } from '../../src/sandbox/server.ts';
import { loadScenario } from '../../src/sandbox/world/scenario.ts';
import { thrownBy } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { scenarioWith } from './client.ts';

describe('a scenario file', () => {
  const load = (text: string) => {
    const file = join(temporaryFolder(), 'scenario.yml');
    writeFileSync(file, text);
    return () => loadScenario(file);
  };

  it('is read as in the service documentation, and as JSON', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(readFileSync('docs/service.md', 'utf8')) ?? [];
    const { workspaces, signing } = load(example)();
    expect(workspaces).toMatchObject([
      { id: 'ws-1', order: 'by_period', usage: [], generate: { tenants: 500, months: 12, open_month: 'by_clock' } },
      { id: 'ws-2', usage: [{ tenant_id: 'acme', period: '2026-01', credits_used: 1200, request_count: 30 }] },
    ]);
    expect(signing).toMatchObject({ payload: '{workspace_id}{valid_until}', encoding: 'hex' });
    expect(load(JSON.stringify({ workspaces }))().workspaces).toEqual(workspaces);
  });

  it.each([
    ['workspaces: [', ['(whole file)']],
    ['', ['(whole file)']],
    ['workspaces: []', ['workspaces']],
    [
      'workspaces: [{id: 1, api_key_id: ak, secret_key: sk_hidden, usage: [{tenant_id: t, period: 2026-13}]}]',
      [
        'workspaces[0].id',
        'workspaces[0].usage[0].credits_used',
        'workspaces[0].usage[0].period',
        'workspaces[0].usage[0].request_count',
      ],
    ],
  ])('is refused with every mistake, and none of its secrets, when it reads %j', (text, paths) => {
    const error = thrownBy(load(text));
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).faults.map(({ path }) => path).sort()).toEqual(paths);
    expect((error as ConfigError).message).not.toContain('sk_hidden');
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

  it('prints a workspace entry to paste', async () => {
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

  it('names the port that is in use', async () => {
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

  it('serves any page of 100,000 tenants over 12 months', async () => {
    const generate = { tenants: 100_000, months: 12 };
    const sandbox = await startSandbox({ scenario: scenarioWith({ generate }) });
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
