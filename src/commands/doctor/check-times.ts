import { existsSync } from 'node:fs';
import { describeAhead, TIMES_AHEAD_REMEDY, timesAhead } from '../../ledger/journal/times-ahead.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { type Finding, warn } from './finding.ts';

/** Whether the ledger holds times to come; silent while it holds none. What keeps it from being read, `ledger` tells. */
export function checkTimes(path: string, nowMs: number): Finding[] {
  if (!existsSync(path)) return [];
  try {
    const reader = openReader(path);
    try {
      const found = timesAhead(reader.connection, nowMs);
      return found === null ? [] : [warn('clock', describeAhead(found, nowMs), TIMES_AHEAD_REMEDY)];
    } finally {
      reader.close();
    }
  } catch {
    return [];
  }
}
