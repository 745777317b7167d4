import type { Facts } from '../messages/facts/facts.ts';

/** Sentences about alerts of a usage rule, in the order in which a message has them. Empty sentences are left out. */
export interface UsageMessage {
  /** Returns the sentences about a finding: figures, comparison, certainty, start. */
  found: (facts: Facts) => string[];
  /** Returns the sentence about the end of the alert. */
  ended: (facts: Facts) => string;
  /** Completes a sentence about several tenants. */
  foundForMany: (month: string, likely: 'all' | 'some' | 'none') => string;
  /** Replaces "It has grown since the last message." */
  grown?: string;
  /** Introduces the price of the credits at stake. */
  cost?: string;
  /** Returns the figure that one member of a group is compared with. Absent: the compared month's. */
  comparison?: (facts: Facts) => string;
}

/** Sentences about one cause of a system alert. `subject` is a workspace, channel or job, or a count of workspaces. */
export interface CauseMessage {
  found: (subject: string) => string;
  ended: (subject: string) => string;
  /** The remedy, as an imperative. */
  todo: string;
}

/** Returns the sentences for an alert's cause. */
export function causeMessage(
  causes: Readonly<Record<string, CauseMessage>>,
  { cause }: Pick<Facts, 'cause'>,
): CauseMessage {
  return causes[cause?.split(':')[0] ?? ''] as CauseMessage;
}
