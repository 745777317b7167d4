import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { syncJobId } from '../../src/queue/jobs.ts';

const kinds = fc.constantFrom('scheduled' as const, 'reconcile' as const);
const slots = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString());
const jobs = fc.record({
  workspaceId: fc.string({ unit: 'binary' }),
  slot: slots,
  kind: kinds,
  attempt: fc.integer({ min: 1, max: 1000 }),
});

describe('the id of a sync job', () => {
  test('is accepted by BullMQ for any workspace id', () => {
    fc.assert(
      fc.property(jobs, (job) => {
        expect(syncJobId(job)).toMatch(/^[a-z]+\.[\w.-]+$/);
      }),
    );
  });

  test('differs when the workspace, the kind, the slot or the attempt differs, and only then', () => {
    fc.assert(
      fc.property(jobs, jobs, (a, b) => {
        const same =
          a.workspaceId === b.workspaceId && a.slot === b.slot && a.kind === b.kind && a.attempt === b.attempt;
        expect(syncJobId(a) === syncJobId(b)).toBe(same);
        expect(syncJobId({ ...a, workspaceId: `${a.workspaceId}x` })).not.toBe(syncJobId(a));
        expect(syncJobId({ ...a, attempt: a.attempt + 1 })).not.toBe(syncJobId(a));
      }),
    );
  });

  test('is the same for any notation of the slot', () => {
    const job = { workspaceId: 'ws-1', kind: 'scheduled' as const, attempt: 1 };
    expect(syncJobId({ ...job, slot: '2026-03-01T10:15:00Z' })).toBe(
      syncJobId({ ...job, slot: '2026-03-01T10:15:00.000Z' }),
    );
  });

  test('is rejected for a slot that is not a time', () => {
    expect(() => syncJobId({ workspaceId: 'ws', slot: 'soon', kind: 'scheduled', attempt: 1 })).toThrow(
      /not an ISO time/,
    );
  });
});
