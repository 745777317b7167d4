import { existsSync } from 'node:fs';
import { LedgerView } from '../oracle/ledger-view.ts';
import type { World } from '../world/world.ts';
import type { Happening } from './happening.ts';
import type { Stage } from './obstacles.ts';

/** What was broken off is tried again after this. */
const AGAIN_MS = 10 * 60_000;
const FILE = 'split.db';
const LAST_END = `SELECT e.action FROM acts e JOIN workspaces w USING (workspace_key)
  WHERE w.workspace_id = ? ORDER BY e.act_seq DESC LIMIT 1`;

/**
 * Operators split a machine by copy, as documented: one workspace goes on in a copy of the ledger on a second machine, or they
 * take its end back. Who types may die on the way, and the other machine's disk may fail: then it is done again until it is
 * done. Nothing else is typed meanwhile.
 */
export async function splitMachine(
  stage: Stage,
  { workspaceId, gapMs, resumed, dies, diesRestoring, disk, twice }: { workspaceId: string } & Splitting,
): Promise<void> {
  const { world, people, seats } = stage;
  // Of a workspace that was never read there is nothing to copy.
  await until(world, async () => knownIn(world).includes(workspaceId));
  for (const seat of seats) seat.hold();
  await until(world, async () => seats.every(({ process }) => process === null) && people.under === 0);
  await until(world, async (isFirst) => {
    return (await people.run(['backup', FILE, '--force'], isFirst ? dies : null)) === 0;
  });
  await end(stage, workspaceId, dies);
  for (const seat of seats) seat.letGo();
  // What comes after the gap begins before the world grows quiet, however late the step was at which the split began.
  await passed(world, Math.min(gapMs, Math.max(0, stage.quietFromMs - world.clock.monotonic()) / 2));
  if (resumed) {
    const resuming = ['workspace', 'resume', workspaceId, '--note', 'a simulation', '--by', 'ada'];
    await until(world, async (isFirst) => {
      await people.run(resuming, isFirst ? dies : null);
      return lastEnd(world, workspaceId) === 'resume';
    });
    stage.meet('workspace resumed');
    return;
  }
  const second = stage.openSecond(workspaceId);
  const [host] = second.world.hosts;
  const restoring = ['restore', `../${FILE}`, '--as-new'];
  await until(world, async (isFirst) => {
    if (host !== undefined && disk !== null && isFirst) host.disk = { fault: disk, probability: 0.05 };
    const code = await second.people.run(
      isFirst ? restoring : [...restoring, '--replace-other'],
      isFirst ? diesRestoring : null,
    );
    if (host !== undefined) host.disk = null;
    return code === 0;
  });
  // As by somebody who does not know that it is done.
  if (twice) await until(world, async () => (await second.people.run([...restoring, '--replace-other'])) === 0);
  for (const other of knownIn(second.world)) if (other !== workspaceId) await end(second, other, null);
  stage.second = second;
  second.begin();
  stage.meet('machine split');
}

type Splitting = Pick<
  Extract<Happening, { kind: 'split' }>,
  'gapMs' | 'resumed' | 'dies' | 'diesRestoring' | 'disk' | 'twice'
>;

async function end({ world, people }: Stage, workspaceId: string, dies: number | null): Promise<void> {
  const ending = ['workspace', 'end', workspaceId, '--elsewhere', '--note', 'a simulation', '--by', 'ada'];
  await until(world, async (isFirst) => {
    await people.run(ending, isFirst ? dies : null);
    return lastEnd(world, workspaceId) === 'elsewhere';
  });
}

async function until(world: World, isDone: (isFirst: boolean) => Promise<boolean>): Promise<void> {
  for (let isFirst = true; !(await isDone(isFirst)); isFirst = false) await passed(world, AGAIN_MS);
}

function passed({ clock }: World, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

function lastEnd(world: World, workspaceId: string): string | null {
  return reading(world, (ledger) => ledger.value<string | undefined>(LAST_END, workspaceId) ?? null);
}

function knownIn(world: World): string[] {
  const rows = reading(world, (ledger) => ledger.all<{ workspace_id: string }>('SELECT workspace_id FROM workspaces'));
  return (rows ?? []).map((row) => row.workspace_id);
}

function reading<T>({ ledgerPath }: World, read: (ledger: LedgerView) => T): T | null {
  if (!existsSync(ledgerPath)) return null;
  const ledger = new LedgerView(ledgerPath);
  try {
    return read(ledger);
  } finally {
    ledger.close();
  }
}
