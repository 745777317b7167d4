// A process that publishes runs in a loop until it is told to stop: what it wrote is known after each run.
// Arguments: the ledger's path. Sends { ready }, and at the end { states: [{ seq, digest, credits }] }.

import { applyRun } from '../../../../dist/ledger/journal/runs/apply-run.js';
import { claimRun } from '../../../../dist/ledger/journal/runs/claim-run.js';
import { RunStaging } from '../../../../dist/ledger/journal/staging/staging.js';
import { openForWriting } from '../../../../dist/ledger/store/file/open.js';

const RECORDS_A_RUN = 40;
/** Keeps the ledger small enough to be checked thirty times in a test. */
const PAUSE_MS = 5;

const [path] = process.argv.slice(2);
const connection = openForWriting(path);
const states = [stateOf()];
let stopping = false;
process.on('message', () => {
  stopping = true;
});
process.on('disconnect', () => process.exit(1));
writeOn(1);

function writeOn(round) {
  if (stopping) {
    connection.close();
    process.send({ states }, () => process.disconnect());
    process.removeAllListeners('disconnect');
    return;
  }
  publish(round);
  states.push(stateOf());
  if (round === 3) process.send({ ready: true });
  setTimeout(writeOn, PAUSE_MS, round + 1);
}

function publish(round) {
  const nowMs = Date.UTC(2026, 2, 20, 12) + round * 1000;
  const window = { from: null, to: null };
  const claim = { workspaceId: 'ws-1', workspaceName: 'One', kind: 'manual', slot: null, window, nowMs };
  const run = claimRun(connection, claim);
  const staging = new RunStaging(connection, run.workspaceKey, window);
  staging.beginWalk();
  const records = Array.from({ length: RECORDS_A_RUN }, (_, index) => ({
    tenantId: `tenant-${(index * 7 + round) % (RECORDS_A_RUN * 2)}`,
    period: '2026-03',
    credits: round * 1000 + index,
    requests: round,
  }));
  staging.stagePage(1, { records, totalRecords: records.length, totalPages: 1 }, Buffer.from(`${round}`));
  applyRun(connection, {
    run,
    staging,
    facts: staging.finishWalk(),
    walk: { walkNumber: 1, startedAtMs: nowMs, finishedAtMs: nowMs, verdict: 'accepted', signs: [] },
    withdrawals: [],
    nowMs,
    afterMerge: () => null,
  });
}

function stateOf() {
  return connection
    .prepare(
      `SELECT (SELECT coalesce(max(applied_seq), 0) FROM runs) AS seq,
         (SELECT digest FROM runs WHERE applied_seq IS NOT NULL ORDER BY applied_seq DESC LIMIT 1) AS digest,
         (SELECT coalesce(sum(credits_used), 0) FROM finance_usage) AS credits`,
    )
    .get();
}
