import { holds, type Judgement, STAGE_RANK, type Stage } from './rule.ts';

/** So few tenants are told one by one, however small the workspace. */
const MIN_TENANTS = 5;

export interface IncidentInput {
  /** The stages of the alerts that one run fired or escalated in one period, one a tenant. */
  stages: readonly Stage[];
  /** Tenants with a record of the period. */
  tenants: number;
}

/** More than three in ten tenants at once are one event of the workspace, not many of its tenants. */
export function judgeIncident({ stages, tenants }: IncidentInput): Judgement | null {
  if (stages.length < MIN_TENANTS || stages.length * 10 <= tenants * 3) return null;
  const stage = stages.reduce((high, each) => (STAGE_RANK[each] > STAGE_RANK[high] ? each : high));
  return holds({ stage, severity: 'critical', threshold: null });
}
