import { holds, type Judgement, STAGE_RANK, type Stage } from './rule.ts';

/** So few tenants are told one by one, however small the workspace. */
const MIN_TENANTS = 5;

export interface IncidentInput {
  /** The stages that tenants of one period came to within a day, or wait to be told of, one a tenant. */
  stages: readonly Stage[];
  /** Tenants that can be compared. */
  tenants: number;
}

const FROM_HIGHEST: readonly Stage[] = ['final', 'certain', 'pace'];

/**
 * More than three in ten tenants within a day are one event of the workspace, not many of its tenants. It speaks of the
 * highest stage that so many of them have come to.
 */
export function judgeIncident({ stages, tenants }: IncidentInput): Judgement | null {
  const stage = FROM_HIGHEST.find((each) => {
    const reached = stages.filter((own) => STAGE_RANK[own] >= STAGE_RANK[each]).length;
    return reached >= MIN_TENANTS && reached * 10 > tenants * 3;
  });
  return stage === undefined ? null : holds({ stage, severity: 'critical', threshold: null });
}
