import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { clear, NO_USAGE } from '../../measures/judgement.ts';
import { buildThreshold, type CreditHistory } from '../../measures/threshold.ts';
import { comparedFigures } from '../judging/compared.ts';
import type { Judging } from '../judging/judging.ts';
import type { Known, Said, UsageRule } from '../rule.ts';
import { commonGrowth } from './common-growth.ts';
import { judgeJump } from './judge-jump.ts';

/** With fewer tenants their own alerts say all that the total could. */
const FEW_TENANTS = 5;

/** The same as a jump, of a whole workspace. */
export const workspaceJump: UsageRule = { inPeriod: (_, { isLate }) => (isLate ? [] : [null]), ofWorkspace };

function ofWorkspace(judging: Judging, periodKey: number, known: Known | null): Said {
  const { factsOf, settings, total } = judging;
  const { period, phase, previousComplete, previousIsFirst } = factsOf(periodKey);
  const { figures, tenants } = total(periodKey);
  const current = figures ?? NO_USAGE;
  const firing = known?.firing ?? null;
  const history: CreditHistory = (before) => total(periodKey - before).figures?.credits ?? null;
  const built = buildThreshold(period, history, settings.workspace);
  const outlook = () => judging.outlook(periodKey, null);
  const judged = judgeJump({
    current: current.credits,
    phase,
    firing,
    paceMinFraction: settings.workspace.paceMinFraction,
    previous: { figures: total(periodKey - 1).figures, usable: previousComplete && !previousIsFirst },
    threshold: built,
    outlook: built === null ? null : outlook,
  });
  const judgement = tenants < FEW_TENANTS ? clear(true) : judged;
  const isTold = judgement.verdict === 'holds' || firing !== null;
  const base = built === null ? null : { periodKey, baseKey: periodKeyOf(workspaceKeyOf(periodKey), built.period) };
  return {
    judgement,
    current,
    commonGrowth: isTold && base !== null ? commonGrowth(judging, base) : null,
    built,
    threshold: built?.credits ?? null,
    previous: comparedFigures(periodKey, built, (key) => total(key).figures),
    forecast: isTold && !phase.over ? outlook() : null,
  };
}
