import type { ChangeCase } from './change-case.ts';

export const CHANGES_OF_RUNS: Readonly<Record<string, ChangeCase>> = {
  'workspaces.sync': {
    input: () => ({ workspace: 'ws-1' }),
    argv: null,
    actors: null,
    // The second time, the first run waits already.
    changesWhenRepeated: true,
  },
};
