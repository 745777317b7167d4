import { clear, holds } from '../judgement.ts';
import { type Observation, ownObservation } from '../observation.ts';
import { type Job, jobFailedKind } from './kind.ts';

/** What is wrong with other work of ours, in words; null: nothing any more. */
export interface JobHealth {
  job: Job;
  /** Whose it is, of a workspace or of a channel; absent where there is one. */
  of?: string;
  detail: string | null;
}

export function judgeJob({ job, of, detail }: JobHealth): Observation & { cause: string } {
  const cause = of === undefined ? job : `${job}:${of}`;
  const { severity } = jobFailedKind.causes[job];
  const judgement = detail === null ? clear(true) : holds({ level: 'happened', severity, threshold: null });
  return { ...ownObservation('job_failed', cause, judgement, detail), cause };
}
