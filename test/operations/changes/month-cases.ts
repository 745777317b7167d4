import type { World } from '../../commands/world.ts';
import type { ChangeCase } from './change-case.ts';

const OPEN = '2026-02';
const CLOSED = '2026-01';
const HALF_A_DAY_MS = 12 * 3_600_000;

/** Reads the settled month again, so that two walks agree. */
async function settled(world: World): Promise<void> {
  world.clock.nowMs += HALF_A_DAY_MS;
  await world.run('sync');
}

export const CHANGES_OF_MONTHS: Readonly<Record<string, ChangeCase>> = {
  'periods.close': {
    input: () => ({ period: OPEN, workspace: 'ws-1', force: true, note: 'run 12' }),
    argv: () => ['close', OPEN, '--workspace', 'ws-1', '--force', '--note', 'run 12'],
    actors: `SELECT actor FROM finance_closes WHERE period = '${OPEN}'`,
  },
  'periods.close_all': {
    given: settled,
    input: () => ({ period: '2025-12', note: 'run 12' }),
    argv: () => ['close', '2025-12', '--all', '--note', 'run 12'],
    actors: "SELECT actor FROM finance_closes WHERE period = '2025-12'",
    // What was closed by the first request is `closed_already` for the second.
    changesWhenRepeated: true,
  },
  'periods.reopen': {
    input: () => ({ period: CLOSED, workspace: 'ws-1', note: 'a credit note was missing' }),
    argv: () => ['reopen', CLOSED, '--workspace', 'ws-1', '--note', 'a credit note was missing'],
    actors: "SELECT actor FROM finance_closes WHERE action = 'reopen'",
  },
};
