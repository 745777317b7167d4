import type { Planted } from './all.ts';

/** What a clock that was wrong leaves behind. */
export const CLOCKS: Planted = {
  'src/queue/slots.ts': {
    'slots-of-the-future': [
      'a clock that was ahead for one tick keeps every slot from being due for as long',
      'doneMs >= slotMs && canHaveHappened(doneMs, nowMs);',
      'doneMs >= slotMs;',
    ],
    'slots-done-and-failed': [
      'a slot that a clock did early, which was ahead, is not tried again when the attempt after it has failed',
      'return failedSlot <= doneSlot || !canHaveHappened(failedAtMs, nowMs);',
      'return failures < 0;',
    ],
  },
  'src/core/stored-time.ts': {
    'ages-below-zero': [
      'what was stored by a clock that was ahead counts as fresh until the clock is there again',
      'return knownMs === null ? null : Math.max(0, nowMs - knownMs);',
      'return knownMs === null && epochMs === null ? null : nowMs - Number(epochMs);',
    ],
    'the-future-has-happened': [
      'no stored time is ever doubted',
      'return epochMs <= nowMs + CLOCK_SLACK_MS;',
      'return epochMs <= nowMs + CLOCK_SLACK_MS || epochMs > 0;',
    ],
  },
  'src/ledger/journal/runs/claim-run.ts': {
    'slots-done-early': [
      'the slot that a clock did early, which was ahead, is left out when it comes',
      'return db.select().from(runs).where(isAhead).limit(1).get() === undefined ? done.runId : null;',
      'return isAhead === undefined ? null : done.runId;',
    ],
    'leases-of-the-future': [
      'a lease that was written by a clock that was ahead holds its workspace until that time has come',
      'leases.released} = 0',
      'leases.released} = 2',
    ],
  },
  'src/daemon/job-handlers.ts': {
    'slots-that-have-not-come': [
      'a job that a clock ahead has put in line does a slot that has not come, which is then left out',
      '(latestMs > slotMs || !canHaveHappened(slotMs, nowMs))',
      'latestMs > slotMs',
    ],
  },
  'src/queue/scheduler.ts': {
    'rests-by-the-wall-clock': [
      'a rest that begins on a clock that is ahead lasts until that time has come',
      'postponed.set(key, clock.monotonic() + delayMs);',
      'postponed.set(key, clock.now() + delayMs);',
      'if (clock.monotonic() < (postponed.get(entry.key) ?? 0)) return null;',
      'if (clock.now() < (postponed.get(entry.key) ?? 0)) return null;',
    ],
  },
  'src/daemon/watches/clock-watch.ts': {
    'times-ahead-untold': [
      'nobody hears that the clock was ahead',
      '    await health.report(detail);',
      '    if (detail === null) await health.report(detail);',
    ],
    'times-ahead-for-ever': [
      'that the clock was ahead is told and never ends',
      '    await health.report(detail);',
      '    if (detail !== null) await health.report(detail);',
    ],
  },
  'src/alerts/outbox/due.ts': {
    'postponed-by-a-clock-ahead': [
      'what a clock that was ahead has put off waits until that time has come',
      'latest: isoTime(nowMs + CLOCK_SLACK_MS) }',
      'latest: isoTime(nowMs + CLOCK_SLACK_MS + 10_000 * DAY_MS) }',
    ],
  },
  'src/alerts/outbox/compose-due.ts': {
    'waits-not-begun-again': [
      'a message that a clock ahead has put off is looked at again and again, and taken in hand by nobody',
      '      restartWaits(connection, nowMs);\n',
      '',
    ],
  },
};
