import { inertText } from '../../../core/text/inert-text.ts';
import type { Job, SyncCause } from '../../rules/self.ts';
import { type Facts, placeOf } from './facts-told.ts';
import { named } from './names.ts';

interface OwnWords {
  /** What is wrong, before the words of the fault. */
  found: (whose: string) => string;
  /** That it is over. */
  over: (whose: string) => string;
  /** What to do, where a person has to. */
  todo: string;
}

/** What is said of what keeps workspaces from being read, of one or of several by their number. */
const SYNC: Record<SyncCause | 'stale', OwnWords> = {
  stale: {
    found: (where) => `The figures of ${where} are old`,
    over: (where) => `The figures of ${where} are complete again.`,
    todo: 'Run `usage-ledger doctor`; other alerts wait until the figures are complete.',
  },
  service: {
    found: (where) => `${where} cannot be read`,
    over: (where) => `${where} can be read again.`,
    todo: 'Run `usage-ledger doctor`.',
  },
  credentials: {
    found: (where) => `The service refuses the credentials of ${where}`,
    over: (where) => `The service accepts the credentials of ${where} again.`,
    todo: 'Check its key and secret, then run `usage-ledger doctor`.',
  },
  clock: {
    found: (where) => `The clock of this machine is wrong, so the service refuses ${where}`,
    over: (where) => `The clock of this machine is right again, and ${where} can be read.`,
    todo: 'Set the clock, then run `usage-ledger doctor`.',
  },
  unproven: {
    found: (where) => `What the service lists of ${where} cannot be proven complete`,
    over: (where) => `What the service lists of ${where} is complete again.`,
    todo: 'Run `usage-ledger doctor`; the figures stay as they were read last.',
  },
};

/** What is said of our other work; a name is that of a workspace or of a channel. */
const JOBS: Record<Job, OwnWords> = {
  alerting: {
    found: (where) => `Alert rules of ${where} fail`,
    over: (where) => `All alert rules of ${where} work again.`,
    todo: 'Run `usage-ledger doctor`; the figures count all the same.',
  },
  replica: {
    found: () => 'The replica in Postgres is late',
    over: () => 'The replica in Postgres has what the ledger has.',
    todo: 'Run `usage-ledger doctor`.',
  },
  channel: {
    found: (name) => `Channel ${name} fails`,
    over: (name) => `Channel ${name} works again.`,
    todo: 'Once it works, run `usage-ledger alerts replay --all-dead`.',
  },
  backup: {
    found: () => 'The last backup failed',
    over: () => 'A backup was made again.',
    todo: 'Look at the disk of the backups; the next one is tried at its time.',
  },
  checkpoint: {
    found: () => 'No signed checkpoint of the ledger can be written',
    over: () => 'Signed checkpoints of the ledger are written again.',
    todo: 'Check the folder of the ledger; the figures count all the same.',
  },
  export: {
    found: () => 'Exports fail',
    over: () => 'All exports are written again.',
    todo: 'Run `usage-ledger doctor`.',
  },
  clock: {
    found: () => 'The clock of this machine was set back',
    over: () => 'No time in the ledger lies ahead of the clock any more.',
    todo: 'Keep the clock by NTP; what is due stays due.',
  },
};

/** Of a fault of our own. */
export function ownWords({ rule, cause }: Pick<Facts, 'rule' | 'cause'>): OwnWords {
  const [what] = cause?.split(':') ?? [];
  if (rule === 'job_failed') return JOBS[(what ?? 'alerting') as Job];
  return SYNC[rule === 'sync_stale' ? 'stale' : ((what ?? 'service') as SyncCause)];
}

export function ownSentences(facts: Facts): string[] {
  const { todo } = ownWords(facts);
  const { detail } = facts.evidence;
  const words = detail === null ? '' : `: ${inertText(detail).replace(/\.$/, '')}`;
  return [`${ownFound(facts)}${words}.`, todo];
}

/** What is wrong, without the words of the fault. */
export function ownFound(facts: Facts): string {
  return ownWords(facts).found(whose(facts));
}

export function ownEnd(facts: Facts): string {
  return ownWords(facts).over(whose(facts));
}

function whose(facts: Facts): string {
  const name = facts.cause?.split(':').slice(1).join(':');
  return name ? named(name) : placeOf(facts);
}
