import { clear, NO_USAGE } from '../../measures/judgement.ts';
import { forecast } from '../../measures/pace/forecast.ts';
import { judgePace, type Pace } from '../../measures/pace/pace.ts';
import { buildThreshold, type CreditHistory } from '../../measures/threshold.ts';
import { comparedFigures } from '../judging/compared.ts';
import type { Judging } from '../judging/judging.ts';
import type { Known, Said, UsageRule } from '../rule.ts';
import { judgeJump } from './judge-jump.ts';
import { jumpWords } from './words.ts';

/** With fewer tenants their own alerts say all that the total could. */
const FEW_TENANTS = 5;

/** The same as a jump, of a whole workspace. */
export const workspaceJump: UsageRule = {
  ...{ kind: 'usage', version: 5, title: 'jump', severity: 'both' },
  ...{ isGrowth: true, hasLevels: true, ofSettled: true, quietBy: 'ratio' },
  docs: {
    tells: 'the same of a whole workspace, from five tenants on',
    holds: { '': "the same for the workspace's total, from five tenants on" },
    severity: 'as `jump`',
  },
  words: jumpWords,
  inPeriod: (_, { isLate }) => (isLate ? [] : [null]),
  ofWorkspace,
};

function ofWorkspace({ factsOf, settings, curves, total }: Judging, periodKey: number, known: Known | null): Said {
  const { period, phase, previousComplete, previousIsFirst } = factsOf(periodKey);
  const { figures, tenants } = total(periodKey);
  const current = figures ?? NO_USAGE;
  const firing = known?.firing ?? null;
  const history: CreditHistory = (before) => total(periodKey - before).figures?.credits ?? null;
  const built = buildThreshold(period, history, settings.workspace);
  const curve = curves.ofTotal(periodKey, (key) => total(key).figures?.credits ?? 0n);
  let pace: Pace | null = null;
  const paceAgainst = (limit: bigint) => () => {
    pace = judgePace({ current: current.credits, limit, phase, curve });
    return pace;
  };
  const judged = judgeJump({
    ...{ current: current.credits, phase, firing, paceMinFraction: settings.workspace.paceMinFraction },
    previous: { figures: total(periodKey - 1).figures, usable: previousComplete && !previousIsFirst },
    threshold: built === null ? null : { credits: built.credits, baseline: built.baseline },
    pace: built === null ? null : paceAgainst(built.credits),
  });
  const judgement = tenants < FEW_TENANTS ? clear(true) : judged;
  const isForetold = !phase.over && (judgement.verdict === 'holds' || firing !== null);
  return {
    ...{ judgement, current, built, threshold: built?.credits ?? null },
    previous: comparedFigures(periodKey, built, (key) => total(key).figures),
    forecast: isForetold ? forecast({ current: current.credits, curve }, pace) : null,
  };
}
