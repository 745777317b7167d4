import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_SIGNING, SIGNED_PARTS } from '../../src/config/signing-scheme.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import type { ScenarioInput } from '../../src/sandbox/world/scenario.ts';
import { UsageApiClient } from '../../src/usage-api/client.ts';
import { UnauthorizedError } from '../../src/usage-api/errors.ts';
import { rejection } from '../support/rejection.ts';

const WORKSPACE = { id: 'ws 1/ä', api_key_id: 'ak_test', secret_key: 'sk_test_not_a_secret' };
const ALL = '{method}\\n{path}\\n{query}\\n{body_sha256}\\n{api_key_id}|{workspace_id}|{valid_until}';

let sandbox: Sandbox;
let client: UsageApiClient;
afterEach(async () => {
  await client.close();
  await sandbox.close();
});

async function start(signing: NonNullable<ScenarioInput['signing']>, ours: Partial<typeof DEFAULT_SIGNING>) {
  const workspace = { ...WORKSPACE, id: 'ws-1', generate: { tenants: 3, months: 2 } };
  sandbox = await startSandbox({ scenario: { workspaces: [workspace], signing } });
  client = new UsageApiClient({
    baseUrl: sandbox.url,
    embedUrl: sandbox.url,
    workspaceId: 'ws-1',
    apiKeyId: workspace.api_key_id,
    secretKey: workspace.secret_key,
    signing: { ...DEFAULT_SIGNING, ...ours },
    retries: 0,
  });
}

/** Every signed request that there is, with what has to be encoded in each place. */
async function askAll(): Promise<void> {
  await client.getWorkspaceUsage();
  await client.getWorkspaceUsage({ fromPeriod: '2026-01', toPeriod: '2026-02', page: 1, perPage: 7 });
  await client.getTenantUsage('a b/ü?&=%', { perPage: 3 });
  await client.createDashboard({ title: 'Ü "quoted" 🙂', description: 'line\nline' });
}

describe('a signature over more than the workspace and the time', () => {
  it.each(['hex', 'base64', 'base64url'] as const)(
    'is accepted by a service that covers it, as %s',
    async (encoding) => {
      await start({ payload: ALL, encoding }, { payload: ALL, encoding });
      await askAll();
    },
  );

  it('is rejected if client and service cover different parts', async () => {
    for (const part of ['method', 'path', 'query', 'body_sha256', 'api_key_id']) {
      await start({ payload: ALL }, { payload: ALL.replace(`{${part}}`, '') });
      expect(await rejection(client.getWorkspaceUsage({ page: 1 })), part).toBeInstanceOf(UnauthorizedError);
      await client.close();
      await sandbox.close();
    }
    await start({ payload: ALL }, { payload: ALL });
  });

  it('is the same on both sides for any template', async () => {
    await start({ payload: ALL }, { payload: ALL });
    const literal = fc.constantFrom('|', '\\n', '\\\\', '\\t', '$&', '{"a":', '}', ' ', '\n', '');
    const piece = fc.oneof(literal, fc.constantFrom(...SIGNED_PARTS.map((name) => `{${name}}`)));
    const template = fc.array(piece, { maxLength: 12 }).map((pieces) => [...pieces, '{valid_until}'].join(''));
    await fc.assert(
      fc.asyncProperty(template, async (payload) => {
        await client.close();
        await sandbox.close();
        await start({ payload }, { payload });
        await askAll();
      }),
      { numRuns: 20 },
    );
  });
});
