import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeSandbox, startSandbox } from '../../src/sandbox/server.ts';
import { scenarioWith } from './client.ts';

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
