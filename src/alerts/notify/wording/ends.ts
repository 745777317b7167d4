import { baselineMonths, baselineWords, type Facts, monthOf, subjectOf } from './facts-told.ts';
import { grouped, named } from './names.ts';

/** Why an alert about usage is over. */
export function endOf(facts: Facts): string {
  const { rule, credits, threshold, workspace_id } = facts;
  const [who, month] = [subjectOf(facts), monthOf(facts)];
  if (rule === 'incident') return `None of the alerts of ${named(workspace_id)} in ${month} is open any more.`;
  if (rule === 'budget' && credits === null) return `${who} has no budget any more.`;
  const used = `${grouped(credits?.current ?? 0n)} credits in ${month}`;
  const limit = grouped(threshold ?? 0n);
  switch (rule) {
    case 'jump':
    case 'workspace_jump':
      return `Over: ${who} ${endOfJump(facts)}.`;
    case 'drop':
      return `Over: ${who} has ${used}, no longer far below ${baselineMonths(facts)} (${grouped(credits?.previous ?? 0n)}).`;
    case 'new_spend':
      return `Over: ${who} has ${used}, under the limit of ${limit}, or had credits in ${baselineMonths(facts)} after all.`;
    case 'trend':
      return `Over: ${who} has ${used}, which is no growth of three months any more; ${baselineWords(facts)}.`;
    case 'budget':
      return `Over: ${who} has ${used}, and neither used nor is expected to use what is told of its budget of ${limit}.`;
    case 'regression':
      return `Over: ${who} has ${used}; the credits that were missing are back.`;
    case 'restatement':
      return `Over: ${who} has ${used}, as it was before.`;
    case 'withdrawn':
      return `Over: ${who} is listed again, with ${used}.`;
    default:
      return `Over: ${who} has ${used}; ${baselineWords(facts)}.`;
  }
}

/** Why a jump is none any more. */
function endOfJump(facts: Facts): string {
  const { level, threshold, credits, evidence } = facts;
  const month = monthOf(facts);
  const used = grouped(credits?.current ?? 0n);
  if (threshold === null) return `has ${used} credits in ${month}, and there is nothing left to compare with`;
  const limit = `the limit of ${grouped(threshold)}`;
  const isBelow = (credits?.current ?? 0n) < threshold;
  if (evidence.projection === null) {
    return isBelow
      ? `ended ${month} with ${used} credits, under ${limit}`
      : `ended ${month} with ${used} credits, which is no jump any more against ${limit}`;
  }
  if (level !== 'likely' && isBelow) return `was corrected to ${used} credits in ${month}, under ${limit}`;
  const now = `is expected to use ${grouped(evidence.projection.credits)} credits in ${month}`;
  if (evidence.projection.credits < threshold) return `${now}, under ${limit}`;
  return `${now}, no longer more than it used before`;
}
