import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { createWorld, FIRST, type World, workspaceSettings } from '../commands/world.ts';

/** An account of its own, in one group beside none of ours. Numbers do: the system asks for no names. */
export const FINANCE = { uid: 61_001, gid: 61_002 };
const SUM = 'SELECT count(*) FROM finance_usage';

/** What a program of the account `FINANCE` writes; to become another user takes root, so without it the test fails. */
export function asFinance(...command: string[]): { status: number | null; out: string } {
  if (process.geteuid?.() !== 0) throw new Error('this test becomes another user: run it as root');
  const identity = ['--reuid', `${FINANCE.uid}`, '--regid', `${FINANCE.gid}`, '--clear-groups'];
  const { status, stdout, stderr } = spawnSync('setpriv', [...identity, ...command], { encoding: 'utf8' });
  return { status, out: `${stdout}${stderr}`.trim() };
}

export function readAsFinance({ ledgerPath }: World): string {
  return asFinance('sqlite3', '-readonly', '-batch', '-cmd', '.timeout 10000', ledgerPath, SUM).out;
}

/** A world whose ledger the group of `FINANCE` may read, by the setting or by hand. */
export async function createShared(
  settings: Record<string, unknown> = { reader_group: `${FINANCE.gid}` },
): Promise<World> {
  const world = await createWorld(FIRST);
  chmodSync(world.folder, 0o711);
  world.clock.nowMs = Date.now();
  world.clock.serviceMs = Date.now();
  world.configure({
    ledger: settings,
    http: { port: 0 },
    workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), cron: '* * * * *' }],
  });
  return world;
}
