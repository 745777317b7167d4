import { expect, test } from 'vitest';
import { ledgerCommands } from '../../../src/writer/commands/ledger-commands.ts';
import { plainDesk } from '../../../src/writer/open-desk.ts';
import { JUMPS, ROUTES, TAKEN, world } from './receivers-scene.ts';

test('a channel that was renamed while another ledger read the workspace hears of what is open once the end is taken back', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  const desk = plainDesk(connection);
  const said = { workspaceId: 'ws-1', by: 'Ada', note: 'split' };
  ledgerCommands.endWorkspace(desk, { ...said, elsewhere: true, nowMs: state.nowMs });
  state.channels = ROUTES.map((route) => ({ ...route, channel: 'renamed' }));
  pass(86_400_000);
  ledgerCommands.resumeWorkspace(desk, { ...said, nowMs: state.nowMs });
  pass(1);
  deliver(TAKEN);
  expect([heard('a'), heard('renamed')]).toEqual([['opened'], ['opened']]);
});
