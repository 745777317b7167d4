import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PromiseBroken } from '../oracle/fault.ts';
import { LedgerView } from '../oracle/ledger-view.ts';
import { ratesCommandFor } from '../world/rate-cards.ts';
import type { World } from '../world/world.ts';
import type { Happening } from './happening.ts';
import type { Stage } from './obstacles.ts';

/** What was broken off is tried again after this. */
const AGAIN_MS = 10 * 60_000;
const FILE = 'moved.db';
const LAST_MOVE = `SELECT m.action FROM workspace_moves m JOIN workspaces w USING (workspace_key)
  WHERE w.workspace_id = ? ORDER BY m.move_key DESC LIMIT 1`;

/**
 * Operators take a workspace to the ledger of another machine, as documented, or take it back after all. Who exports or
 * imports may die on the way, and the other machine's disk may fail: then it is done again until it is done.
 */
export async function moveWorkspace(
  stage: Stage,
  { workspaceId, gapMs, kept, dies, diesImporting, disk }: { workspaceId: string } & Omit<Moving, 'workspace'>,
): Promise<void> {
  const { world, people } = stage;
  const file = join(world.folder, FILE);
  const exporting = ['workspace', 'export', workspaceId, '--out', FILE, '--force', '--by', 'ada'];
  await until(world, async (isFirst) => (await people.run(exporting, isFirst ? dies : null)) === 0);
  await passed(world, gapMs);
  if (kept) {
    const keeping = ['workspace', 'keep', workspaceId, '--by', 'ada'];
    await until(world, async (isFirst) => {
      await people.run(keeping, isFirst ? dies : null);
      return lastMove(world, workspaceId) !== 'export';
    });
    stage.meet('workspace kept');
    return;
  }
  const second = stage.openSecond(workspaceId);
  const [host] = second.world.hosts;
  await until(world, async () => (await second.people.run(['migrate'])) === 0);
  await until(world, async (isFirst) => {
    await second.people.run(ratesCommandFor(cardsIn(file)));
    if (host !== undefined && disk !== null && isFirst) host.disk = { fault: disk, probability: 0.05 };
    await second.people.run(['workspace', 'import', `../${FILE}`, '--by', 'ada'], isFirst ? diesImporting : null);
    if (host !== undefined) host.disk = null;
    if (lastMove(second.world, workspaceId) === 'import') return true;
    requireNothing(second.world);
    return false;
  });
  stage.second = second;
  second.begin();
  stage.meet('workspace moved');
}

type Moving = Pick<
  Extract<Happening, { kind: 'move' }>,
  'workspace' | 'gapMs' | 'kept' | 'dies' | 'diesImporting' | 'disk'
>;

async function until(world: World, isDone: (isFirst: boolean) => Promise<boolean>): Promise<void> {
  for (let isFirst = true; !(await isDone(isFirst)); isFirst = false) await passed(world, AGAIN_MS);
}

function passed({ clock }: World, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

function lastMove({ ledgerPath }: World, workspaceId: string): string | null {
  if (!existsSync(ledgerPath)) return null;
  return reading(ledgerPath, (ledger) => ledger.value<string | undefined>(LAST_MOVE, workspaceId) ?? null);
}

function cardsIn(file: string): string[] {
  const sql = 'SELECT name FROM rate_cards WHERE retired_after_seq IS NULL';
  return reading(file, (ledger) => ledger.all<{ name: string }>(sql).map(({ name }) => name));
}

function requireNothing({ ledgerPath }: World): void {
  const rows = reading(ledgerPath, (ledger) =>
    ledger.value<bigint>(
      'SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM alerts) + (SELECT count(*) FROM periods)',
    ),
  );
  if (rows > 0n) throw new PromiseBroken('a workspace moves whole or not at all', `${rows} rows are there`);
}

function reading<T>(path: string, read: (ledger: LedgerView) => T): T {
  const ledger = new LedgerView(path);
  try {
    return read(ledger);
  } finally {
    ledger.close();
  }
}
