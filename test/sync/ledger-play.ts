import type { Consistency } from '../../src/config/types.ts';
import { AppError } from '../../src/core/errors.ts';
import type { RunKind } from '../../src/ledger/journal/runs/claim-run.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import type { RunWindow } from '../../src/ledger/journal/staging/staging.ts';
import { openLedger } from '../support/open-ledger.ts';
import { listingOf } from '../support/run/listing.ts';
import { realRun, writerOn } from '../support/run/real-run.ts';
import { NOON } from '../support/time/test-clock.ts';

const PER_PAGE = 4;
const MONTHS = ['2026-01', '2026-02', '2026-03'];
export const WHOLE: RunWindow = { from: '2026-01', to: '2026-03' };

/** What happens to a listing; `before`: at the answer of that number in the next reading, 0 before it begins. */
export interface Change {
  op: 'value' | 'add' | 'remove' | 'reorder';
  pick: number;
  before: number;
}

export interface Step {
  changes: readonly Change[];
  kind: RunKind;
  window: RunWindow;
  workspace: 'ws-1' | 'ws-2';
  consistency: Consistency;
  /** The service gives all that it has, whatever window it is asked for. */
  isDeaf: boolean;
}

export const QUIET: Step = {
  changes: [],
  kind: 'manual',
  window: WHOLE,
  workspace: 'ws-1',
  consistency: 'counted',
  isDeaf: false,
};

/** A ledger, and the listings of two workspaces that it reads. */
export function playLedger() {
  const { connection } = openLedger();
  const writer = writerOn(connection);
  const rows = { 'ws-1': firstRows(), 'ws-2': firstRows() };
  return {
    connection,
    forget: () => connection.exec('DELETE FROM known_listings'),
    listed: (id: Step['workspace']) =>
      rows[id].map(({ period, tenantId, credits }) => `${period} ${tenantId} ${credits}`).sort(),
    async play({ changes, kind, window, workspace: id, consistency, isDeaf }: Step) {
      let requests = 0;
      let left = changes;
      const happen = (until: number): void => {
        for (const change of left.filter(({ before }) => before <= until)) carryOut(change, rows[id]);
        left = left.filter(({ before }) => before > until);
      };
      const listing = () =>
        listingOf(
          id,
          rows[id].filter((row) => isDeaf || isInside(row, window)),
          PER_PAGE,
        );
      const run = realRun({
        writer,
        now: () => NOON,
        kind,
        window,
        workspace: { id, consistency, perPage: PER_PAGE, concurrency: 1 },
        source: {
          fetchUsagePage: (asked, options) => {
            happen(requests);
            requests += 1;
            return listing().fetchUsagePage(asked, options);
          },
          getTenantUsage: (...asked) => listing().getTenantUsage(...asked),
        },
      });
      const outcome = await run.then(
        ({ entries, records, pages }) => ({ entries, records, pages }),
        (error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          return { code: error.code };
        },
      );
      happen(Number.POSITIVE_INFINITY);
      return { requests, outcome };
    },
  };
}

function isInside({ period }: StagedRecord, { from, to }: RunWindow): boolean {
  return (from === null || period >= from) && (to === null || period <= to);
}

function firstRows(): StagedRecord[] {
  return Array.from({ length: 16 }, (_, index) => ({
    tenantId: `tenant-${index}`,
    period: MONTHS[index % MONTHS.length] as string,
    credits: 100 + index,
    requests: 1,
  }));
}

function carryOut({ op, pick }: Change, rows: StagedRecord[]): void {
  const at = rows.length === 0 ? 0 : pick % rows.length;
  const row = rows[at];
  // The same on both sides of a comparison: values follow from what is picked.
  const credits = Number(row?.credits ?? 0) + 7 + pick;
  if (op === 'add' || row === undefined) {
    const tenantId = `new-${rows.length}-${pick}-${rows.map(({ tenantId: id }) => id.length).reduce((a, b) => a + b, 0)}`;
    rows.splice(at, 0, { tenantId, period: MONTHS[pick % MONTHS.length] as string, credits, requests: 1 });
  } else if (op === 'remove') rows.splice(at, 1);
  else if (op === 'reorder') rows.push(...rows.splice(at, 1));
  else rows[at] = { ...row, credits };
}
