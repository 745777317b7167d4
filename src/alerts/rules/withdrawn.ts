import { clear, holds, type Judgement } from './rule.ts';

/** The service has stopped listing a record that had credits. Gone when it lists the record again. */
export function judgeWithdrawn(withdrawn: boolean, creditsBefore: bigint): Judgement {
  if (!withdrawn || creditsBefore <= 0n) return clear(true);
  return holds({ level: 'happened', severity: 'warning', threshold: null });
}
