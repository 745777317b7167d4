import { onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { ONE_TICK } from '../support/daemon-folder.ts';

interface World {
  sandbox: Sandbox;
  settings(...ids: string[]): { workspaces: Record<string, unknown>[] };
}

export async function startWorld({ tenants = 20 } = {}): Promise<World> {
  const workspaces = ['ws-1', 'ws-2'].map((id) => ({
    id,
    api_key_id: `ak_${id}`,
    secret_key: `sk_of_${id}`,
    generate: { tenants, months: 2 },
  }));
  const sandbox = await startSandbox({ scenario: { workspaces } });
  onTestFinished(() => sandbox.close());
  const settings: World['settings'] = (...ids) => ({
    ...ONE_TICK,
    http: { port: 0 },
    workspaces: workspaces
      .filter(({ id }) => ids.includes(id))
      .map(({ generate, ...own }) => ({ ...own, base_url: sandbox.url, embed_url: sandbox.url })),
  });
  return { sandbox, settings };
}
