import type { Planted } from './planted.ts';

/** Runs, slots, leases, and what is said of how fresh a workspace is. */
export const RUNS: readonly Planted[] = [
  {
    name: 'unfenced-publishing',
    harm: 'a process that slept through its lease publishes over the one that took over',
    edits: [
      {
        file: 'src/ledger/journal/runs/apply-run.ts',
        from: 'if (!holdsLease(connection, run)) {',
        to: 'if (!holdsLease(connection, run) && facts.pages < 0) {',
      },
    ],
  },
  {
    name: 'slots-done-twice',
    harm: 'a job that is handed out twice does its slot twice',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: 'if (doneBy !== null) return { doneBy };',
        to: "if (doneBy === '') return { doneBy };",
      },
    ],
  },
  {
    name: 'runs-left-open',
    harm: 'the run of a process that died counts as running for ever',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: '  supersedeRunning(connection, workspaceKey, startedAt);\n  const runId',
        to: '  const runId',
      },
    ],
  },
  {
    name: 'take-overs-are-faults',
    harm: 'a harmless take-over is half-way to a page at night',
    edits: [
      {
        file: 'src/sync/run.ts',
        from: "request.signal.aborted || failure.code === 'fenced' ? null",
        to: 'request.signal.aborted ? null',
      },
    ],
  },
  {
    name: 'a-year-is-waited-for',
    harm: 'one answer 429 with a Retry-After of a year silences a workspace',
    edits: [
      {
        file: 'src/sync/asked-to-wait.ts',
        from: 'return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));',
        to: 'return Math.max(nowMs + Math.max(wished, shortestMs), Math.min(0, nextSlot(nowMs)));',
      },
    ],
  },
  {
    name: 'nothing-is-believed',
    harm: 'a service that says it has no records empties the month',
    edits: [
      {
        file: 'src/sync/run.ts',
        from: 'if (walk.facts.records > 0) return;',
        to: 'if (walk.facts.records >= 0) return;',
      },
    ],
  },
  {
    name: 'totals-not-compared',
    harm: 'a listing that announces more records than it gives is published',
    edits: [
      {
        file: 'src/sync/prove.ts',
        from: "if (facts.distinctKeys !== facts.totalRecords) signs.push('records_missing');",
        to: "if (facts.distinctKeys > facts.totalRecords) signs.push('records_missing');",
      },
    ],
  },
  {
    name: 'stale-is-fresh',
    harm: 'a workspace that cannot be read counts as fresh for ten times as long as documented',
    edits: [
      {
        file: 'src/daemon/state/staleness.ts',
        from: 'Math.min(unchangedMs, upMs) <= staleAfterMs) return false;',
        to: 'Math.min(unchangedMs, upMs) <= 10 * staleAfterMs) return false;',
      },
    ],
  },
  {
    name: 'live-runs-overtaken',
    harm: 'a second process takes the workspace of one that lives',
    edits: [
      {
        file: 'src/ledger/journal/runs/claim-run.ts',
        from: 'if (leftMs > 0 && !gone) {',
        to: 'if (leftMs > LEASE_MS && !gone) {',
      },
    ],
  },
  {
    name: 'leases-not-renewed',
    harm: 'a run of more than a minute is overtaken although its process lives',
    edits: [
      {
        file: 'src/sync/run.ts',
        from: 'const stop = every(deps.clock, LEASE_MS / 3, () => {',
        to: 'const stop = every(deps.clock, LEASE_MS * 300, () => {',
      },
    ],
  },
  {
    name: 'leases-kept',
    harm: 'a run that has failed keeps its workspace from being read for a minute',
    edits: [
      {
        file: 'src/ledger/journal/runs/fail-run.ts',
        from: '      releaseLease(connection, run);\n',
        to: "      if (failure.status !== 'failed') releaseLease(connection, run);\n",
      },
    ],
  },
  {
    name: 'overtaken-runs-renamed',
    harm: 'a run that was overtaken says that it has failed',
    edits: [
      {
        file: 'src/ledger/journal/runs/fail-run.ts',
        from: ".where(and(eq(runs.runKey, run.runKey), eq(runs.status, 'running')))",
        to: '.where(and(eq(runs.runKey, run.runKey), gte(runs.runKey, 0)))',
      },
    ],
  },
  {
    name: 'stops-are-faults',
    harm: 'a stop of the daemon in the middle of a run is half-way to a page at night',
    edits: [
      {
        file: 'src/sync/run.ts',
        from: "request.signal.aborted || failure.code === 'fenced' ? null",
        to: "failure.code === 'fenced' ? null",
      },
    ],
  },
  {
    name: 'failed-slots-given-up',
    harm: 'what failed is not tried again before the next slot',
    edits: [
      {
        file: 'src/queue/slots.ts',
        from: 'const rest = restMs(history, nextMs - slotMs) -',
        to: 'const rest = nextMs - slotMs -',
      },
    ],
  },
  {
    name: 'refused-for-hours',
    harm: 'credentials that were refused once are not tried again for five hours',
    edits: [
      {
        file: 'src/queue/slots.ts',
        from: 'const FIRST_REFUSED_MS = 5 * 60_000;',
        to: 'const FIRST_REFUSED_MS = 5 * 60 * 60_000;',
      },
      {
        file: 'src/queue/slots.ts',
        from: 'const LONGEST_REFUSED_MS = 60 * 60_000;',
        to: 'const LONGEST_REFUSED_MS = 24 * 60 * 60_000;',
      },
    ],
  },
  {
    name: 'stale-untold',
    harm: 'that a workspace is not read any more is told of half a day late',
    edits: [
      {
        file: 'src/alerts/rules/own/sync-stale.ts',
        from: 'if (sinceMs <= staleAfterMs) return null;',
        to: 'if (sinceMs <= staleAfterMs + 43_200_000) return null;',
      },
    ],
  },
  {
    name: 'stale-too-soon',
    harm: 'a workspace counts as stale before its next slot has come',
    edits: [
      {
        file: 'src/daemon/state/stale-after.ts',
        from: 'return 2 * longestPauseMs(cron, nowMs) + STALE_GRACE_MS;',
        to: 'return longestPauseMs(cron, nowMs) / 4 + STALE_GRACE_MS;',
      },
    ],
  },
  {
    name: 'ready-without-a-queue',
    harm: '`/readyz` says that all is well while Redis is away',
    edits: [
      {
        file: 'src/daemon/http/readiness.ts',
        from: 'if (!probe.redisUp()) faults',
        to: 'if (!probe.redisUp() && faults.length > 0) faults',
      },
    ],
  },
];
