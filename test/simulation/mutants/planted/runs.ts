import type { Planted } from './all.ts';

/** Runs, slots, leases, and what is said of how fresh a workspace is. */
export const RUNS: Planted = {
  'src/ledger/journal/runs/apply-run.ts': {
    'unfenced-publishing': [
      'a process that slept through its lease publishes over the one that took over',
      'if (!holdsLease(connection, run)) {',
      'if (!holdsLease(connection, run) && facts.pages < 0) {',
    ],
  },
  'src/ledger/journal/runs/claim-run.ts': {
    'slots-done-twice': [
      'a job that is handed out twice does its slot twice',
      'if (doneBy !== null) return { doneBy };',
      "if (doneBy === '') return { doneBy };",
    ],
    'runs-left-open': [
      'the run of a process that died counts as running for ever',
      '  supersedeRunning(connection, workspaceKey, startedAt);\n',
      '',
    ],
    'live-runs-overtaken': [
      'a second process takes the workspace of one that lives',
      'if (leftMs > 0 && !gone) {',
      'if (leftMs > LEASE_MS && !gone) {',
    ],
  },
  'src/sync/run-lease.ts': {
    'leases-not-renewed': [
      'a run of more than a minute is overtaken although its process lives',
      'every(deps.clock, LEASE_MS / 3,',
      'every(deps.clock, LEASE_MS * 300,',
    ],
  },
  'src/sync/run.ts': {
    'stops-are-faults': [
      'a stop of the daemon in the middle of a run is half-way to a page at night',
      'request.signal.aborted ? null',
      "failure.code === '' ? null",
    ],
  },
  'src/writer/run-commands.ts': {
    'overtaken-and-blamed': [
      'a harmless take-over is half-way to a page at night',
      'if (fault === null || !isOwn) return',
      'if (fault === null) return',
    ],
  },
  'src/freshness/staleness.ts': {
    'stale-is-fresh': [
      'a workspace that cannot be read counts as fresh for ten times as long as documented',
      'Math.min(unchangedMs, upMs) <= staleAfterMs) return false;',
      'Math.min(unchangedMs, upMs) <= 10 * staleAfterMs) return false;',
    ],
    'stale-too-soon': [
      'a workspace counts as stale before its next slot has come',
      'return 2 * longestPauseMs(schedule, nowMs) + STALE_GRACE_MS;',
      'return longestPauseMs(schedule, nowMs) / 4 + STALE_GRACE_MS;',
    ],
  },
  'src/ledger/journal/runs/fail-run.ts': {
    'leases-kept': [
      'a run that has failed keeps its workspace from being read for a minute',
      '      releaseLease(connection, run);\n',
      "      if (failure.status !== 'failed') releaseLease(connection, run);\n",
    ],
    'overtaken-runs-renamed': [
      'a run that was overtaken says that it has failed',
      ".where(and(eq(runs.runKey, run.runKey), eq(runs.status, 'running')))",
      '.where(and(eq(runs.runKey, run.runKey), gte(runs.runKey, 0)))',
    ],
  },
  'src/queue/slots.ts': {
    'failed-slots-given-up': [
      'what failed is not tried again before the next slot',
      'pauseAfterFailureMs(history, nextMs - slotMs) -',
      'nextMs - slotMs -',
    ],
    'refused-for-hours': [
      'credentials that were refused once are not tried again for five hours',
      'const FIRST_REFUSED_PAUSE_MS = 5 * 60_000;',
      'const FIRST_REFUSED_PAUSE_MS = 5 * 60 * 60_000;',
      'const MAX_REFUSED_PAUSE_MS = 60 * 60_000;',
      'const MAX_REFUSED_PAUSE_MS = 24 * 60 * 60_000;',
    ],
  },
  'src/daemon/http/readiness.ts': {
    'ready-without-a-queue': [
      '`/readyz` says that all is well while Redis is away',
      'if (!probe.redisUp()) {',
      'if (!probe.redisUp() && faults.length > 0) {',
    ],
  },
};

/** The same, as days show it. */
export const RUNS_OF_DAYS: Planted = {
  'src/sync/run-deadline.ts': {
    'a-year-is-waited-for': [
      'one answer 429 with a Retry-After of a year silences a workspace',
      'return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));',
      'return Math.max(nowMs + Math.max(wished, shortestMs), Math.min(0, nextSlot(nowMs)));',
    ],
  },
  'src/alerts/rules/sync-stale/detect.ts': {
    'stale-untold': [
      'that a workspace is not read any more is told of half a day late',
      'if (sinceMs <= staleAfterMs) return null;',
      'if (sinceMs <= staleAfterMs + 43_200_000) return null;',
    ],
  },
};
