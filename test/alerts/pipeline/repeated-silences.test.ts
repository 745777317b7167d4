import { expect, test } from 'vitest';
import { addSilence } from '../../../src/alerts/actions.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { GONE, JUMPS, TAKEN, world } from '../outbox/receivers-scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('a recurring silence mutes in its hours, and alerts that still hold after them are sent', async () => {
  const { connection, state, look, deliver, heard, pass } = await world();
  addSilence(connection, {
    ...{
      kind: 'silence',
      workspaceId: null,
      rule: '*',
      tenant: '*',
      period: '*',
      upToCredits: null,
      reason: 'backups',
    },
    ...{ by: 'Ada', nowMs: state.nowMs, beginsMs: NOON + DAY_MS, untilMs: NOON + 30 * DAY_MS },
    times: { weekdays: null, hours: '22:00-02:00', daysOfMonth: null, timeZone: null },
  });
  // The first night comes before its beginning.
  pass(11 * HOUR_MS);
  look(JUMPS);
  deliver(TAKEN);
  for (const judgement of [GONE, GONE]) look(judgement);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed']);
  pass(24 * HOUR_MS);
  look(JUMPS);
  deliver(TAKEN);
  pass(2.9 * HOUR_MS);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed']);
  pass(0.2 * HOUR_MS);
  deliver(TAKEN);
  expect(heard()).toEqual(['opened', 'closed', 'again']);
});
