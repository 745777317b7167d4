// A process that publishes runs in a loop until it is told to stop: what it wrote is known after each run.
// Arguments: the ledger's path. Sends { ready }, and at the end { states: [{ seq, digest, credits }] }.

import { workspaceSchema } from '../../../../src/config/schema/workspace-settings.ts';
import { createLogger } from '../../../../src/core/logger.ts';
import { openForWriting } from '../../../../src/ledger/store/file/open.ts';
import { syncWorkspace } from '../../../../src/sync/run.ts';
import { StagingMemory } from '../../../../src/sync/staging-room.ts';
import { execute } from '../../../../src/writer/commands.ts';
import { plainSession } from '../../../../src/writer/session.ts';
import { createWriter } from '../../../../src/writer/writer.ts';

const RECORDS_A_RUN = 40;
/** Keeps the ledger small enough to be checked thirty times in a test. */
const PAUSE_MS = 5;
const WORKSPACE = workspaceSchema.parse({
  id: 'ws-1',
  name: 'One',
  base_url: 'http://127.0.0.1',
  embed_url: 'http://127.0.0.1',
  api_key_id: 'ak_test',
  secret_key: 'sk_test_not_a_secret',
  concurrency: 1,
  consistency: 'counted',
  // Its runs leave out what they please.
  suspicious_shrink: 1,
});

const [path] = process.argv.slice(2);
const connection = openForWriting(path);
const session = plainSession(connection);
const writer = createWriter({ call: async (name, args) => execute(session, name, args) });
const staging = new StagingMemory();
const logger = createLogger({ level: 'silent' });
const states = [stateOf()];
let stopping = false;
process.on('message', () => {
  stopping = true;
});
process.on('disconnect', () => process.exit(1));
void writeOn(1);

async function writeOn(round) {
  if (stopping) {
    connection.close();
    process.send({ states }, () => process.disconnect());
    process.removeAllListeners('disconnect');
    return;
  }
  await publish(round);
  states.push(stateOf());
  if (round === 3) process.send({ ready: true });
  setTimeout(writeOn, PAUSE_MS, round + 1);
}

async function publish(round) {
  const now = () => Date.UTC(2026, 2, 20, 12) + round * 1000;
  const usage = Array.from({ length: RECORDS_A_RUN }, (_, index) => ({
    ...{ tenant_id: `tenant-${(index * 7 + round) % (RECORDS_A_RUN * 2)}`, period: '2026-03' },
    ...{ period_start: '2026-03-01T00:00:00Z', period_end: '2026-03-31T23:59:59Z' },
    ...{ credits_used: round * 1000 + index, request_count: round },
  }));
  const data = { workspace_id: 'ws-1', usage, total_records: RECORDS_A_RUN, total_pages: 1 };
  const body = [Buffer.from(JSON.stringify({ message: '', success: true, data }))];
  const histories = { usage: [{ period: '2026-03' }], total_records: 1, total_pages: 1 };
  await syncWorkspace(
    {
      ...{ writer, workspace: WORKSPACE, staging, logger, channels: [], pace: async () => {} },
      source: { fetchUsagePage: async () => ({ body }), getTenantUsage: async () => histories },
      clock: { now, monotonic: now, after: () => () => {} },
    },
    {
      ...{ kind: 'manual', slot: null, window: { from: null, to: null } },
      signal: new AbortController().signal,
    },
  );
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
