import { bestTrial, sumOfTrial, type TrialSum } from '../../alerts/backtest/propose.ts';
import { counted } from '../../core/text/counted.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import { type BacktestAnswer, labelledJson, noiseJson, paceJson, settingsJson } from './backtest-json.ts';
import { historyWords, noisiest, ruleWords } from './backtest-words.ts';

/** Several settings beside today's, a row each; `answers` are of one history, at least two. */
export function trialsWords(answers: readonly BacktestAnswer[], options: TableOptions): string {
  const [first] = answers;
  if (first === undefined) return '';
  const { history, comparison } = first;
  const sections = [
    historyWords(history),
    renderTable(
      [rowOf(first, 'today', 0), ...answers.map((answer, n) => rowOf(answer, 'proposed', n + 1))],
      COLUMNS,
      options,
    ),
    ...noisiest(comparison.tenants, options, 'today'),
    proposalWords(answers),
  ];
  return sections.join('\n\n');
}

/** The same for programs; `proposal` is the place among `trials`, -1 for today's settings, null when nothing can be proposed. */
export function trialsJson(answers: readonly BacktestAnswer[], filters: object): object {
  const [first] = answers;
  if (first === undefined) return {};
  const { history, comparison, settings } = first;
  const sumJson = ({ alerts, notifications, lost, real, wrong }: TrialSum) => {
    return {
      total: { alerts, notifications },
      labelled_real_told: real,
      labelled_real_lost: lost,
      labelled_false_told: wrong,
    };
  };
  return {
    workspace_id: history.workspaceId,
    filters,
    history: { runs: history.runs, first_run_at: history.firstRunAt, last_run_at: history.lastRunAt },
    left_out: ['silences', 'plans', 'acknowledgements', 'alerts about ourselves'],
    today: { settings: settingsJson(settings.today), ...sumJson(sumOfTrial(first, 'today')) },
    trials: answers.map((answer) => ({
      settings: settingsJson(answer.settings.proposed),
      ...sumJson(sumOfTrial(answer, 'proposed')),
      paces: answer.comparison.paces.map(({ rule, outcome }) => ({ rule, ...paceJson(outcome.proposed) })),
      labels: answer.labelled.map(labelledJson),
    })),
    tenants: comparison.tenants.map(noiseJson),
    proposal: bestTrial(answers),
  };
}

interface TrialRow {
  settings: string;
  alerts: number;
  notifications: number;
  paces: string;
  real: string;
  wrong: number;
}

const COLUMNS: TableColumn<TrialRow>[] = [
  { name: 'settings', header: 'Settings' },
  { name: 'alerts', header: 'Alerts' },
  { name: 'notifications', header: 'Notified' },
  { name: 'paces', header: 'Paces never true', align: 'right' },
  { name: 'real', header: 'Labelled real told', align: 'right' },
  { name: 'wrong', header: 'False told' },
];

function rowOf(answer: BacktestAnswer, side: 'today' | 'proposed', place: number): TrialRow {
  const { comparison, labelled, settings } = answer;
  const { alerts, notifications, real, wrong } = sumOfTrial(answer, side);
  const all = labelled.reduce((sum, rule) => sum + rule.labelled.real, 0);
  const paces = comparison.paces.map(({ outcome }) => outcome[side]);
  const told = paces.reduce((sum, outcome) => sum + outcome.told, 0);
  const never = paces.reduce((sum, outcome) => sum + outcome.neverTrue, 0);
  const name = side === 'today' ? 'today' : String(place);
  return {
    ...{
      settings: `${name}: ${ruleWords(settings[side])}${ownWords(settings[side].tenants.length)}`,
      alerts,
      notifications,
    },
    ...{ paces: `${never} of ${told}`, real: `${real} of ${all}`, wrong },
  };
}

function ownWords(patterns: number): string {
  return patterns === 0 ? '' : `, ${counted(patterns, 'tenant pattern')}`;
}

/** Which of the settings to take, by what people have labelled. */
function proposalWords(answers: readonly BacktestAnswer[]): string {
  const best = bestTrial(answers);
  const [first] = answers;
  if (best === null || first === undefined) {
    return 'no alert is labelled real, so nothing says which settings lose what matters: see `usage-ledger alerts feedback`';
  }
  const answer = answers[best];
  if (answer === undefined)
    return "none of them loses no alert labelled real and tells less: today's settings stay the best";
  const [today, sum] = [sumOfTrial(first, 'today'), sumOfTrial(answer, 'proposed')];
  const fewer = today.notifications - sum.notifications;
  const change = `${counted(Math.abs(fewer), 'notification')} ${fewer < 0 ? 'more' : 'fewer'}`;
  return `proposed: ${best + 1}, which loses no alert labelled real, tells ${formatInteger(sum.wrong)} labelled false instead of ${formatInteger(today.wrong)}, and gives ${change}`;
}
