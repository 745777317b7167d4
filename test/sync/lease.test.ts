import { expect, test } from 'vitest';
import { LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { holdAnswer } from '../support/hold-answer.ts';
import { openInProcessWriter } from '../support/in-process-writer.ts';
import { rejection } from '../support/rejection.ts';
import { type Fixture, manualOrder, startFixture } from '../support/sandbox-fixture.ts';

test.each([
  { writer: 'a thread of its own', overrides: {} },
  { writer: 'the process', overrides: { openWriter: openInProcessWriter } },
])('a take-over is nobody’s fault: no alert is raised of it, with the writer in $writer', async ({ overrides }) => {
  const fixture = await startFixture({ thread: true });
  const { clock, view, another } = fixture;
  const slow = another(undefined, overrides);
  await another().sync(manualOrder());
  const held = holdFirstRequest(fixture);
  const sleeper = rejection(slow.sync(manualOrder()));
  await held.reached;
  clock.advance(LEASE_MS);
  await another(undefined, overrides).sync(manualOrder());
  held.release();

  expect(await sleeper).toMatchObject({ code: 'fenced', retryable: true });
  expect(view().rows("SELECT * FROM alerts WHERE rule = 'sync_failed'")).toEqual([]);
});

/** One record upstream, and a service that keeps its first answer until `release`. */
function holdFirstRequest({ sandbox, upstream }: Fixture): { reached: Promise<void>; release: () => void } {
  upstream.set({ tenantId: 'a', period: '2026-03', credits: 1, requests: 1 });
  return holdAnswer(sandbox);
}
