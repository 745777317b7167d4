import { clear, holds, type Judgement } from './rule.ts';

export interface RestatementInput {
  /** Credits and requests as they were closed; null when the period is not closed (any more). */
  closed: { credits: bigint; requests: bigint } | null;
  /** As the service says them now. */
  current: { credits: bigint; requests: bigint };
}

/** The service says something else of a closed period than what was closed. Gone when it takes that back. */
export function judgeRestatement({ closed, current }: RestatementInput): Judgement {
  if (closed === null) return clear(true);
  if (closed.credits === current.credits && closed.requests === current.requests) return clear(true);
  const change = current.credits - closed.credits;
  const measure = change < 0n ? -change : change;
  return holds({ stage: 'final', severity: 'warning', threshold: null, measure: measure === 0n ? null : measure });
}
