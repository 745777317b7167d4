import { clear, holds, type Judgement, NO_USAGE } from '../../measures/judgement.ts';
import { heads } from '../../wording/facts-told.ts';
import { grouped } from '../../wording/names.ts';
import type { UsageRule } from '../rule.ts';
import { entriesOfKind } from './entries-of-kind.ts';

/** A tenant that had credits is no longer listed. */
export const withdrawn: UsageRule = {
  kind: 'usage',
  version: 2,
  title: 'withdrawal',
  severity: 'warning',
  ofReadings: true,
  docs: {
    tells: 'a tenant that had credits and is no longer listed',
    holds: { '': 'the service has stopped listing a record that had credits' },
  },
  words: {
    found(facts) {
      const [who, month] = heads(facts);
      return [`${who} is no longer listed in ${month}; it had ${grouped(facts.credits?.previous ?? 0n)} credits.`];
    },
    over(facts) {
      const [who, month, used] = heads(facts);
      return `${who} is listed again in ${month}, with ${used} credits.`;
    },
    manyFound: (month) => `are no longer listed in ${month}`,
    cost: 'These credits cost',
  },
  inRun: ({ merged }) => entriesOfKind(merged, 'withdrawn'),
  ofTenant(_, tenant, known, before = known?.previous ?? NO_USAGE) {
    return { judgement: judgeWithdrawn(tenant.withdrawn, before.credits), previous: before };
  },
};

/** The service has stopped listing a record that had credits. Gone when it lists the record again. */
export function judgeWithdrawn(withdrawn: boolean, creditsBefore: bigint): Judgement {
  if (!withdrawn || creditsBefore <= 0n) return clear(true);
  return holds({ level: 'happened', severity: 'warning', threshold: null });
}
