import { inOneUnit } from '../../../core/text/words.ts';
import { holds } from '../../measures/judgement.ts';
import { type Observation, ownObservation } from '../../measures/observation.ts';
import type { OwnRule } from '../rule.ts';

/** No complete run for longer than a workspace may take. */
export const syncStale: OwnRule = {
  kind: 'own',
  version: 1,
  title: 'missing run',
  severity: 'critical',
  causes: [],
  isOfReading: true,
  explains: 1,
  docs: {
    tells: 'no complete run for too long',
    holds: {
      '': 'no complete run for two of the longest pauses between ticks and a minute, and not because one still reads or waits, in two looks a minute apart',
    },
  },
  words: () => ({
    found: (where) => `The figures of ${where} are old`,
    over: (where) => `The figures of ${where} are complete again.`,
    todo: 'Run `usage-ledger doctor`; other alerts wait until the figures are complete.',
  }),
};

/** Null: it is not stale. */
export function judgeStale(sinceMs: number, staleAfterMs: number): Observation | null {
  if (sinceMs <= staleAfterMs) return null;
  const judgement = holds({ level: 'happened', severity: 'critical', threshold: null });
  return ownObservation('sync_stale', null, judgement, `no complete run for ${inOneUnit(sinceMs)}`);
}
