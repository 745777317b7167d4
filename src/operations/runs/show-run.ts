import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import { asc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import { financeRuns } from '../../ledger/store/schema/finance-views.ts';
import { runs, walks } from '../../ledger/store/schema/run-tables.ts';
import { documentOperation } from '../operation.ts';
import { idText } from '../schemas.ts';

const text = z.string().nullable();

const walk = z.strictObject({
  walk_number: z.int(),
  started_at: z.string(),
  finished_at: z.string(),
  pages: z.int(),
  records: z.int(),
  distinct_keys: z.int(),
  total_records: z.int().describe('the number of records that the service announced'),
  total_pages: z.int(),
  key_set_digest: z.string(),
  content_digest: z.string(),
  verdict: z.enum(['accepted', 'moved', 'unconfirmed']),
  signs: z.array(z.unknown()).describe('the signs that the listing changed while it was read'),
});

export const showRun = documentOperation({
  name: 'runs.show',
  summary: 'Show a run: what it read and when, the certificate of each complete pass, and its error',
  details:
    'Shows why a run failed, and the proof that it read everything. Take `run_id` from status_read or from views_read with `runs`.',
  role: 'read',
  input: z.strictObject({ run_id: idText.describe('the run') }),
  output: z.strictObject({
    run: z.strictObject({
      run_id: z.string(),
      workspace_id: z.string(),
      status: z.string(),
      kind: z.string(),
      slot: text.describe('the scheduled time; null for a manual run'),
      from_period: text,
      to_period: text,
      started_at: z.string(),
      finished_at: text,
      pages: z.int(),
      records: z.int(),
      entries: z.int(),
      digest: text,
      error_code: text,
      error_message: text,
    }),
    walks: z.array(walk),
  }),
  http: { method: 'GET', path: '/runs/{run_id}' },
  command: null,
  run({ connection }, { run_id: runId }) {
    const db = query(connection);
    const run = db.select().from(financeRuns).where(eq(financeRuns.run_id, runId)).get();
    if (run === undefined) {
      throw new AppError('unknown_run', `there is no run ${JSON.stringify(runId)}`, {
        hint: 'take its id from the list of runs',
      });
    }
    const found = db
      .select({ walk: walks })
      .from(walks)
      .innerJoin(runs, eq(runs.runKey, walks.runKey))
      .where(eq(runs.runId, runId))
      .orderBy(asc(walks.walkNumber))
      .all();
    return { run, walks: found.map(({ walk }) => walkRecord(walk)) };
  },
});

function walkRecord(found: typeof walks.$inferSelect): z.output<typeof walk> {
  return {
    walk_number: found.walkNumber,
    started_at: found.startedAt,
    finished_at: found.finishedAt,
    pages: found.pages,
    records: found.records,
    distinct_keys: found.distinctKeys,
    total_records: found.totalRecords,
    total_pages: found.totalPages,
    key_set_digest: found.keySetDigest,
    content_digest: found.contentDigest,
    verdict: found.verdict,
    signs: JSON.parse(found.signs) as unknown[],
  };
}
