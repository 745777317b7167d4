import { inertText } from '../../../core/text/inert-text.ts';
import type { SelfRule } from '../../rules/table.ts';
import type { Facts } from './facts-told.ts';
import { named } from './names.ts';

interface OwnWords {
  /** What is wrong, before the words of the fault. */
  found: (workspace: string) => string;
  /** That it is over. */
  over: (workspace: string) => string;
  /** What to do, where a person has to. */
  todo: string;
}

/** What is said of faults of our own, of one workspace or of several by their number. */
export const OWN: Record<SelfRule, OwnWords> = {
  sync_stale: {
    found: (where) => `The figures of ${where} are old`,
    over: (where) => `The figures of ${where} are complete again.`,
    todo: 'Run `usage-ledger doctor`; other alerts wait until the figures are complete.',
  },
  sync_failed: {
    found: (where) => `${where} cannot be read`,
    over: (where) => `${where} is read again.`,
    todo: 'Run `usage-ledger doctor`.',
  },
  auth_failed: {
    found: (where) => `The service refuses the credentials of ${where}`,
    over: (where) => `The service takes the credentials of ${where} again.`,
    todo: 'Check its key and secret, then run `usage-ledger doctor`.',
  },
  clock_skew: {
    found: (where) => `The clock of this host is wrong, so the service refuses ${where}`,
    over: (where) => `The clock of this host is right again, and ${where} is read.`,
    todo: 'Set the clock, then run `usage-ledger doctor`.',
  },
  job_failed: {
    found: (where) => `Alert rules of ${where} fail`,
    over: (where) => `All alert rules of ${where} work again.`,
    todo: 'Run `usage-ledger doctor`; the figures are published all the same.',
  },
  publish_stale: {
    found: () => 'The replica in Postgres is late',
    over: () => 'The replica in Postgres has what the ledger has.',
    todo: 'Run `usage-ledger doctor`.',
  },
  export_failed: {
    found: () => 'Exports fail',
    over: () => 'All exports are written again.',
    todo: 'Run `usage-ledger doctor`.',
  },
  clock_moved: {
    found: () => 'The clock of this host was set back',
    over: () => 'No time in the ledger lies ahead of the clock any more.',
    todo: '',
  },
};

export function ownSentences({ rule, workspace_id, evidence }: Facts & { rule: SelfRule }): string[] {
  const { found, todo } = OWN[rule];
  const detail = evidence.detail === null ? '' : `: ${inertText(evidence.detail).replace(/\.$/, '')}`;
  return [`${found(named(workspace_id))}${detail}.`, todo];
}
