import { stringify } from 'yaml';
import type { Sandbox } from './server.ts';

/**
 * What an operator pastes into `usage-ledger.yml` to read from this stand-in: a `workspaces:` block, one line each.
 * Shows the made-up secrets of the scenario.
 */
export function describeSandbox(sandbox: Sandbox): string[] {
  const { signing } = sandbox.scenario;
  const workspaces = sandbox.scenario.workspaces.map((workspace) => ({
    id: workspace.id,
    ...(workspace.name === undefined ? {} : { name: workspace.name }),
    base_url: sandbox.url,
    embed_url: sandbox.url,
    api_key_id: workspace.api_key_id,
    secret_key: workspace.secret_key,
    signing: { ...signing },
  }));
  return stringify({ workspaces }).trimEnd().split('\n');
}
