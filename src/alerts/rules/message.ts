import type { Facts } from '../messages/facts/facts.ts';

/** The words of a usage rule about a finding. Empty sentences are left out. */
export interface FoundWords {
  /** Completes the title after the subject: how much, against which limit. No full stop. */
  title: string;
  /** Sentences of the first line: the figures that the title is compared with. */
  figures: string[];
  /** Sentences of the second line: causes. */
  causes?: string[];
}

/** The words of a usage rule about the end of an alert. */
export interface EndedWords {
  /** Completes the title after `March jump closed`: the figures; empty without any. */
  figures: string;
  /** The sentence that explains the end. */
  why: string;
}

/** The words of a usage rule, in the order of a message: title, figures, causes, cost. */
export interface UsageMessage {
  found: (facts: Facts) => FoundWords;
  ended: (facts: Facts) => EndedWords;
  /** Completes the title of a message about several tenants. */
  foundForMany: (month: string, likely: 'all' | 'some' | 'none') => string;
  /** Replaces "Grown since the last message." */
  grown?: string;
  /** Returns the sentence about the price of the credits at stake. */
  cost?: (amount: string, facts: Facts) => string;
  /** Returns the figure that an alert in a group is compared with. Absent: the credits of the compared month. */
  comparison?: (facts: Facts) => string;
}

/**
 * The words about one cause of a system alert. `subject` names a workspace, channel or job, or counts workspaces
 * ("3 workspaces").
 */
export interface CauseMessage {
  /** The title of a finding. */
  found: (subject: string) => string;
  /** The title of the message that the fault has ended. */
  ended: (subject: string) => string;
  /** The remedy, as an imperative. */
  todo: string;
}

/** Returns the words for an alert's cause. */
export function causeMessage(
  causes: Readonly<Record<string, CauseMessage>>,
  { cause }: Pick<Facts, 'cause'>,
): CauseMessage {
  return causes[cause?.split(':')[0] ?? ''] as CauseMessage;
}
