import { clear, holds } from '../judgement.ts';
import { type Observation, systemObservation } from '../observation.ts';
import { type Job, jobFailedKind } from './kind.ts';

/** The health of a job. `detail` describes the fault; null: the job works again. */
export interface JobHealth {
  job: Job;
  /** The affected workspace or channel; absent if the job has only one. */
  of?: string;
  detail: string | null;
}

export function judgeJob({ job, of, detail }: JobHealth): Observation & { cause: string } {
  const cause = of === undefined ? job : `${job}:${of}`;
  const { severity } = jobFailedKind.causes[job];
  const judgement = detail === null ? clear(true) : holds({ level: 'happened', severity, threshold: null });
  return { ...systemObservation('job_failed', cause, judgement, detail), cause };
}
