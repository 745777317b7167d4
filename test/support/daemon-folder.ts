import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { describeSandbox, type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import type { ScenarioInput } from '../../src/sandbox/world/scenario.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Settings with which the only tick of a daemon is the one that is due at its start. */
export const ONE_TICK = { defaults: { cron: '0 0 1 1 *', reconcile_cron: '0 0 1 1 *' } };
/** Of a service that is never asked, or that is not there. */
export const NOWHERE = {
  id: 'ws-1',
  base_url: 'http://127.0.0.1:9',
  embed_url: 'http://127.0.0.1:9',
  api_key_id: 'ak_first',
  secret_key: 'sk_first_not_a_secret',
};

/** A service with one workspace, `ws-1`, until the test has finished. */
export async function startService(own: Partial<ScenarioInput['workspaces'][number]> = {}): Promise<Sandbox> {
  const workspace = { id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_of_this_test', ...own };
  const sandbox = await startSandbox({ scenario: { workspaces: [workspace] } });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** A folder whose configuration reads all workspaces of a service; the pages get any free port. */
export function daemonFolder(sandbox: Sandbox, settings: object = {}, folder = temporaryFolder()): string {
  const { workspaces } = parse(describeSandbox(sandbox).join('\n'));
  return configure(folder, { http: { port: 0 }, workspaces, ...settings });
}

export function configure(folder: string, settings: object): string {
  writeFileSync(join(folder, 'usage-ledger.yml'), stringify(settings), { mode: 0o600 });
  return folder;
}
