import { formatDuration } from '../../../core/text/words.ts';
import { holds } from '../judgement.ts';
import { type Observation, systemObservation } from '../observation.ts';

/** Judges the time since the last complete run; null: not stale. */
export function judgeStale(sinceMs: number, staleAfterMs: number): Observation | null {
  if (sinceMs <= staleAfterMs) return null;
  const judgement = holds({ level: 'happened', severity: 'critical', threshold: null });
  return systemObservation('sync_stale', null, judgement, `no complete run for ${formatDuration(sinceMs)}`);
}
