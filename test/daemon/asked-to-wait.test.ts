import { expect, test } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { createSyncHandler } from '../../src/daemon/job-handlers.ts';
import { createSlotHistory } from '../../src/freshness/schedules.ts';
import { readSyncFacts } from '../../src/freshness/staleness.ts';
import { listWorkspacesToShow, readWorkspaceStatuses } from '../../src/freshness/workspace-status.ts';
import { rejection } from '../support/rejection.ts';
import { type Fixture, startFixture, WORKSPACE } from '../support/sandbox-fixture.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Plays one job whose first request is answered with 429; returns until when the workspace rests. */
async function restAfter429(fixture: Fixture, retryAfter: string): Promise<number> {
  const { context, clock, sandbox } = fixture;
  const action = { type: 'status', status: 429, headers: { 'Retry-After': retryAfter } } as const;
  sandbox.faults.push({ times: 1, action });
  const rests: number[] = [];
  const handle = createSyncHandler(context, {
    onStart: () => undefined,
    wakeDeliveries: () => undefined,
    postpone: (_, delayMs) => void rests.push(delayMs),
  });
  const job = { workspaceId: WORKSPACE, kind: 'scheduled', slot: isoTime(clock.now()), attempt: 1 } as const;
  await rejection(handle(job, { signal: new AbortController().signal, progress: () => undefined }));
  expect(rests).toHaveLength(1);
  return Number(rests[0]);
}

test.each([
  ['*/15 * * * *', 'for 365 days', 15 * MINUTE_MS, String(365 * 86_400)],
  ['*/15 * * * *', 'for more than a year', 15 * MINUTE_MS, '9'.repeat(400)],
  ['*/15 * * * *', 'for 2 min', 2 * MINUTE_MS, '120'],
  ['0 0 1 1 *', 'for 365 days', DAY_MS, String(365 * 86_400)],
])('under cron %s a requested wait %s ends after %d ms, and status and the alert show when', async (...row) => {
  const [cron, words, restMs, retryAfter] = row;
  const fixture = await startFixture({ thread: true, settings: { cron } });
  await fixture.context.writer();
  expect(await restAfter429(fixture, retryAfter)).toBe(restMs);

  const { connection } = fixture.context.reader();
  const historyOf = createSlotHistory(connection, fixture.clock);
  const sources = { factsOf: (id: string) => readSyncFacts(connection)(id), waitingSince: () => null, historyOf };
  const [line] = listWorkspacesToShow(fixture.config, readWorkspaceStatuses(connection), sources, fixture.clock.now());
  const until = isoTime(fixture.clock.now() + restMs);
  const said = `asks to wait ${words}; the next attempt is at ${until}`;
  expect(line?.last_run?.error_message).toContain(said);
  const details = connection.prepare('SELECT detail FROM alerts').pluck().all();
  expect(details).toEqual([expect.stringContaining(said)]);
});

test('a manual run reports only the wait, because no schedule repeats it', async () => {
  const { sandbox, sync } = await startFixture({ thread: true });
  sandbox.faults.push({ action: { type: 'status', status: 429, headers: { 'Retry-After': '3600' } } });
  expect((await rejection(sync())).message).toMatch(/the service asks to wait for 1 h$/);
});
