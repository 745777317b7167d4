import { expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { startFixture } from '../support/sandbox-fixture.ts';

const FOR_EVER = Number.POSITIVE_INFINITY;

test('attempts after a failure wait for their turn as all requests do', async () => {
  const fixture = await startFixture({ settings: { requestsPerSecond: 2 } });
  fixture.sandbox.faults.push({ times: FOR_EVER, action: { type: 'status', status: 503 } });
  const context = fixture.another(undefined, { clientOptions: { retries: 6, retryBaseMs: 1 } });
  const startedAtMs = performance.now();
  await rejection(
    context.sync({ workspaceId: 'ws-1', kind: 'manual', slot: null, signal: AbortSignal.timeout(90_000) }),
  );
  // Seven requests at two a second, less a burst of 100 ms; their back-off alone takes a tenth of a second.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(2_850);
  expect(fixture.sandbox.requests.count).toBe(7);
});
