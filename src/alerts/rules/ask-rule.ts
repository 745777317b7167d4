import type { RuleName } from '../../core/text/alert-words.ts';
import { NO_USAGE, type UsageFigures } from '../measures/judgement.ts';
import { type Observation, observation } from '../measures/observation.ts';
import type { Judging, TenantFacts } from './judging/judging.ts';
import type { Known } from './rule.ts';
import { JUDGES } from './table.ts';

/** What a rule says of a tenant, or of a workspace in a period; null: nothing. */
export function askRule(
  judging: Judging,
  rule: RuleName,
  subject: TenantFacts | number,
  known: Known | null,
  before?: UsageFigures,
): Observation | null {
  const asked = JUDGES[rule];
  if (typeof subject === 'number') {
    const said = asked?.ofWorkspace?.(judging, subject, known) ?? null;
    const { phase } = judging.factsOf(subject);
    return said && observation({ rule, periodKey: subject, tenantKey: null, phase, ...said });
  }
  const { periodKey, tenantKey, current, previous } = subject;
  const said = asked?.ofTenant?.(judging, subject, known, before) ?? null;
  const { phase } = judging.factsOf(periodKey);
  return said && observation({ rule, periodKey, tenantKey, phase, current: current ?? NO_USAGE, previous, ...said });
}
