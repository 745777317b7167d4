import type { Fault } from '../../ledger/audit/verify/fault.ts';

/** Where a fault is, with a colon; empty when nothing smaller than the ledger can be named. */
export function placeOf({ runId, entryId }: Fault): string {
  const places = [runId, entryId === null ? null : `entry ${entryId}`].filter((place) => place !== null);
  return places.length === 0 ? '' : `${places.join(', ')}: `;
}

/** A fault as `--json` shows it. */
export function faultRecord({ check, runId, entryId, message }: Fault) {
  return { check, run_id: runId, entry_id: entryId, message };
}
