import type { ChangeCase } from './change-case.ts';

const WHY = 'contract ended';
const ACTORS = "SELECT actor FROM acts WHERE action IN ('end', 'resume') ORDER BY act_seq DESC LIMIT 1";

export const CHANGES_OF_RUNS: Readonly<Record<string, ChangeCase>> = {
  'workspaces.sync': {
    input: () => ({ workspace: 'ws-1' }),
    argv: null,
    actors: null,
    // The second time, the first run waits already.
    changesWhenRepeated: true,
  },
  'workspaces.end': {
    input: () => ({ workspace: 'ws-2', note: WHY }),
    argv: () => ['workspace', 'end', 'ws-2', '--note', WHY],
    actors: ACTORS,
  },
  'workspaces.resume': {
    given: (world) => world.run('workspace', 'end', 'ws-2', '--note', WHY),
    input: () => ({ workspace: 'ws-2', note: WHY }),
    argv: () => ['workspace', 'resume', 'ws-2', '--note', WHY],
    actors: ACTORS,
  },
};
