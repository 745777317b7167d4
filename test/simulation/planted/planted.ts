/** A defect that the program has had, or could have: `from` in `file` becomes `to`. */
export interface Planted {
  name: string;
  /** What a user would notice. */
  harm: string;
  file: string;
  from: string;
  to: string;
}

/** Each is put back alone, and the simulation has two minutes to find it. */
export const PLANTED: readonly Planted[] = [
  {
    name: 'slots-of-the-future',
    harm: 'a clock that was ahead for one tick keeps every slot from being due for as long',
    file: 'src/queue/slots.ts',
    from: 'return doneMs !== null && doneMs >= slotMs && canHaveHappened(doneMs, nowMs);',
    to: 'return doneMs !== null && doneMs >= slotMs && (nowMs > 0 || canHaveHappened(doneMs, nowMs));',
  },
  {
    name: 'ages-below-zero',
    harm: 'what was stored by a clock that was ahead counts as fresh until the clock is there again',
    file: 'src/core/stored-time.ts',
    from: 'const knownMs = knownTime(epochMs, nowMs);\n  return knownMs === null ? null : Math.max(0, nowMs - knownMs);',
    to: 'return epochMs === null ? null : nowMs - epochMs;',
  },
  {
    name: 'the-future-has-happened',
    harm: 'no stored time is ever doubted',
    file: 'src/core/stored-time.ts',
    from: 'return epochMs <= nowMs + CLOCK_SLACK_MS;',
    to: 'return epochMs <= nowMs + CLOCK_SLACK_MS || epochMs > 0;',
  },
  {
    name: 'unfenced-publishing',
    harm: 'a process that slept through its lease publishes over the one that took over',
    file: 'src/ledger/journal/runs/apply-run.ts',
    from: 'if (!holdsLease(connection, run)) {',
    to: 'if (!holdsLease(connection, run) && facts.pages < 0) {',
  },
  {
    name: 'slots-done-twice',
    harm: 'a job that is handed out twice does its slot twice',
    file: 'src/ledger/journal/runs/claim-run.ts',
    from: 'if (done !== undefined) return { doneBy: done.runId };',
    to: 'if (done === null) return { doneBy: String(done) };',
  },
  {
    name: 'runs-left-open',
    harm: 'the run of a process that died counts as running for ever',
    file: 'src/ledger/journal/runs/claim-run.ts',
    from: '  supersedeRunning(connection, workspaceKey, startedAt);\n  const runId',
    to: '  const runId',
  },
  {
    name: 'ends-lost-in-the-first-run',
    harm: 'who was told that a workspace cannot be read never hears that it can, when its first run ends that',
    file: 'src/alerts/book/silencer.ts',
    from: "if (seeding && !isSelf(alert.rule)) return 'seed';",
    to: "if (seeding) return 'seed';",
  },
  {
    name: 'take-overs-are-faults',
    harm: 'a harmless take-over is half-way to a page at night',
    file: 'src/sync/run.ts',
    from: "request.signal.aborted || failure.code === 'fenced' ? null",
    to: 'request.signal.aborted ? null',
  },
  {
    name: 'a-year-is-waited-for',
    harm: 'one answer 429 with a Retry-After of a year silences a workspace',
    file: 'src/sync/asked-to-wait.ts',
    from: 'return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));',
    to: 'return Math.max(nowMs + Math.max(wished, shortestMs), Math.min(0, nextSlot(nowMs)));',
  },
  {
    name: 'claims-for-ever',
    harm: 'what a sender that died had in hand is never sent',
    file: 'src/alerts/outbox/outbox.ts',
    from: 'or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now))',
    to: 'or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, isoTime(0)))',
  },
  {
    name: 'delivered-without-an-answer',
    harm: 'a message counts as delivered whatever its receiver said',
    file: 'src/alerts/outbox/outbox.ts',
    from: '          state: record.state,\n          attempts',
    to: "          state: 'delivered',\n          attempts",
  },
  {
    name: 'retries-forgotten',
    harm: 'what was not delivered at the first attempt is never tried again',
    file: 'src/alerts/outbox/outbox.ts',
    from: "FROM outbox WHERE state = 'pending')",
    to: "FROM outbox WHERE state = 'pending' AND attempts = 0)",
  },
  {
    name: 'nothing-is-believed',
    harm: 'a service that says it has no records empties the month',
    file: 'src/sync/run.ts',
    from: 'if (walk.facts.records > 0) return;',
    to: 'if (walk.facts.records >= 0) return;',
  },
  {
    name: 'totals-not-compared',
    harm: 'a listing that announces more records than it gives is published',
    file: 'src/sync/prove.ts',
    from: "if (facts.distinctKeys !== facts.totalRecords) signs.push('records_missing');",
    to: "if (facts.distinctKeys > facts.totalRecords) signs.push('records_missing');",
  },
  {
    name: 'stale-is-fresh',
    harm: 'a workspace that cannot be read counts as fresh for ten times as long as documented',
    file: 'src/reports/queries/staleness.ts',
    from: 'Math.min(unchangedMs, upMs) <= staleAfterMs) return false;',
    to: 'Math.min(unchangedMs, upMs) <= 10 * staleAfterMs) return false;',
  },
  {
    name: 'secrets-told',
    harm: 'a service that echoes a secret has it told to every receiver',
    file: 'src/usage-api/client.ts',
    from: 'redact: (text) => own(others(text)),',
    to: 'redact: (text) => (own(others(text)) === null ? own(text) : text),',
  },
];
