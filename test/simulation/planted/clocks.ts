import type { Planted } from './planted.ts';

/** What a clock that was wrong leaves behind. */
export const CLOCKS: readonly Planted[] = [
  {
    name: 'slots-of-the-future',
    harm: 'a clock that was ahead for one tick keeps every slot from being due for as long',
    edits: [
      {
        file: 'src/queue/slots.ts',
        from: 'return doneMs !== null && doneMs >= slotMs && canHaveHappened(doneMs, nowMs);',
        to: 'return doneMs !== null && doneMs >= slotMs && (nowMs > 0 || canHaveHappened(doneMs, nowMs));',
      },
    ],
  },
  {
    name: 'ages-below-zero',
    harm: 'what was stored by a clock that was ahead counts as fresh until the clock is there again',
    edits: [
      {
        file: 'src/core/stored-time.ts',
        from: 'const knownMs = knownTime(epochMs, nowMs);\n  return knownMs === null ? null : Math.max(0, nowMs - knownMs);',
        to: 'return epochMs === null ? null : nowMs - epochMs;',
      },
    ],
  },
  {
    name: 'the-future-has-happened',
    harm: 'no stored time is ever doubted',
    edits: [
      {
        file: 'src/core/stored-time.ts',
        from: 'return epochMs <= nowMs + CLOCK_SLACK_MS;',
        to: 'return epochMs <= nowMs + CLOCK_SLACK_MS || epochMs > 0;',
      },
    ],
  },
  {
    name: 'slots-done-early',
    harm: 'the slot that a clock did early, which was ahead, is left out when it comes',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: 'return db.select().from(runs).where(isAhead).limit(1).get() === undefined ? done.runId : null;',
        to: 'return isAhead === undefined ? null : done.runId;',
      },
    ],
  },
  {
    name: 'slots-done-and-failed',
    harm: 'a slot that a clock did early, which was ahead, is not tried again when the attempt after it has failed',
    edits: [
      {
        file: 'src/queue/slots.ts',
        from: 'return failedSlot <= doneSlot || !canHaveHappened(failedAtMs, nowMs);',
        to: 'return failures < 0;',
      },
    ],
  },
  {
    name: 'leases-of-the-future',
    harm: 'a lease that was written by a clock that was ahead holds its workspace until that time has come',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: '.where(and(eq(leases.released, 0), gt(leases.expiresAt, latest)))',
        to: '.where(and(eq(leases.released, 2), gt(leases.expiresAt, latest)))',
      },
    ],
  },
  {
    name: 'rests-by-the-wall-clock',
    harm: 'a rest that begins on a clock that is ahead lasts until that time has come',
    edits: [
      {
        file: 'src/queue/scheduler.ts',
        from: 'postponed.set(key, clock.monotonic() + delayMs);',
        to: 'postponed.set(key, clock.now() + delayMs);',
      },
      {
        file: 'src/queue/scheduler.ts',
        from: 'if (clock.monotonic() < (postponed.get(entry.key) ?? 0)) return null;',
        to: 'if (clock.now() < (postponed.get(entry.key) ?? 0)) return null;',
      },
    ],
  },
  {
    name: 'times-ahead-untold',
    harm: 'nobody hears that the clock was ahead',
    edits: [
      {
        file: 'src/daemon/watches/clock-watch.ts',
        from: 'await tell(detail);',
        to: 'if (detail === null) await tell(detail);',
      },
    ],
  },
  {
    name: 'times-ahead-for-ever',
    harm: 'that the clock was ahead is told and never ends',
    edits: [
      {
        file: 'src/daemon/watches/clock-watch.ts',
        from: 'await tell(detail);',
        to: 'if (detail !== null) await tell(detail);',
      },
    ],
  },
  {
    name: 'postponed-by-a-clock-ahead',
    harm: 'what a clock that was ahead has put off waits until that time has come',
    edits: [
      {
        file: 'src/alerts/outbox/outbox.ts',
        from: 'gt(since, isoTime(nowMs + CLAIM_MS + CLOCK_SLACK_MS))',
        to: 'gt(since, isoTime(nowMs + CLAIM_MS + CLOCK_SLACK_MS + 10_000 * DAY_MS))',
      },
    ],
  },
  {
    name: 'waits-taken-over-undated',
    harm: 'a group that is made of what a clock ahead has written waits until that clock would say that it is due',
    edits: [
      {
        file: 'src/alerts/tell/group.ts',
        from: 'claimedUntil: claimedUntil ?? createdAt };',
        to: 'claimedUntil };',
      },
    ],
  },
  {
    name: 'said-once',
    harm: 'a daemon whose clock is ahead ends the alert about times to come, and the other one never says it again',
    edits: [
      {
        file: 'src/daemon/watches/clock-watch.ts',
        from: 'const SAID_AGAIN_MS = 10 * 60_000;',
        to: 'const SAID_AGAIN_MS = Number.POSITIVE_INFINITY;',
      },
    ],
  },
];
