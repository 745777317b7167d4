import { expect, test } from 'vitest';
import { replayDead } from '../../../src/alerts/outbox/replay.ts';
import { WRITER_COMMANDS } from '../../../src/writer/commands.ts';
import { notifying, sessionOn } from '../../support/run/real-run.ts';

import { GONE, JUMPS, ROUTES, TAKEN, UNKNOWN, world } from './receivers-scene.ts';

test('a channel renamed while another ledger read the workspace is sent the open alerts once the end is revoked', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  const session = sessionOn(connection);
  const said = { workspaceId: 'ws-1', by: 'Ada', note: 'split' };
  WRITER_COMMANDS.retireWorkspace(session, { ...said, elsewhere: true, nowMs: state.nowMs });
  state.channels = ROUTES.map((route) => ({ ...route, channel: 'renamed' }));
  pass(86_400_000);
  WRITER_COMMANDS.resumeWorkspace(session, { ...said, nowMs: state.nowMs });
  pass(1);
  deliver(TAKEN);
  expect([heard('a'), heard('renamed')]).toEqual([['opened'], ['opened']]);
});

test('a channel that may have received the beginning is sent the end when the workspace ends, and nothing twice', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(UNKNOWN);
  const session = sessionOn(connection);
  const said = { workspaceId: 'ws-1', by: 'Ada', note: 'split' };
  WRITER_COMMANDS.retireWorkspace(session, { ...said, elsewhere: true, nowMs: state.nowMs });
  pass(86_400_000);
  WRITER_COMMANDS.resumeWorkspace(session, { ...said, nowMs: state.nowMs });
  pass(1);
  deliver(TAKEN);
  expect(heard('a')).toEqual(['opened']);
  look(GONE);
  deliver(TAKEN);
  expect(heard('a')).toEqual(['opened', 'closed']);
});

test('an end that was refused and then delivered is not sent again by a replay', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  look(JUMPS);
  deliver(TAKEN);
  look(GONE);
  deliver('rejected');
  const session = sessionOn(connection);
  const said = { workspaceId: 'ws-1', by: 'Ada', note: 'split' };
  WRITER_COMMANDS.retireWorkspace(session, { ...said, elsewhere: true, nowMs: state.nowMs });
  pass(3_600_000);
  WRITER_COMMANDS.resumeWorkspace(session, { ...said, nowMs: state.nowMs });
  pass(1);
  deliver(TAKEN);
  expect(heard('a')).toEqual(['opened', 'closed']);
  const { replayed, dropped } = replayDead(connection, {
    notificationIds: null,
    ...notifying(connection, state.nowMs),
  });
  expect([replayed.length, dropped.length]).toEqual([0, 1]);
  pass(1);
  deliver(TAKEN);
  expect(heard('a')).toEqual(['opened', 'closed']);
});
