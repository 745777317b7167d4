import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backtest } from '../../alerts/backtest/backtest.ts';
import { loadAlertsOnTrial, parseAlertNumber, withAlertsOnTrial } from '../../config/alerts-on-trial.ts';
import { remedyFor } from '../../config/reading/remedies.ts';
import type { FileAlerts } from '../../config/schema/file-schema.ts';
import type { AlertSettings } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { windowBounds } from '../../ledger/store/schema/keys.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { parsePeriodWindow } from '../shared/period-window.ts';
import { createReplayView } from '../shared/progress.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { type BacktestAnswer, backtestJson } from './backtest-json.ts';
import { trialsJson, trialsWords } from './backtest-trials.ts';
import { backtestWords } from './backtest-words.ts';

interface BacktestOptions {
  workspace?: string;
  /** Each as often as it is given: all that can be combined are tried. */
  ratio?: string[];
  minCredits?: string[];
  ruleFile?: string[];
  from?: string;
  to?: string;
}

const LEFT_OUT = `
Every recorded run is gone through again, at its own time, by the rules as they
are now. Both columns show what the rules say of the usage: silences, plans,
acknowledgements, and alerts about ourselves (such as sync_failed) are left out.
What the first run found is told to nobody, as it was then, and is not counted.
Both sides use today's lookback_periods and settle_hours. The ledger is only
read.`;

export function backtestCommand(cli: CliContext): Command {
  return reportingCommand('backtest')
    .description(
      'Try other alert settings on the recorded history: which alerts they would have given, and when, beside ' +
        "those of today's settings.",
    )
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--ratio <number>', "another ratio for the workspace; tenants' own settings stay; repeatable", collect)
    .option('--min-credits <number>', 'the same with min_credits; repeatable', collect)
    .option('--rule-file <file>', "YAML in place of what stands below the workspace's `alerts:`; repeatable", collect)
    .option('--from <period>', 'compare alerts about this period and later ones, YYYY-MM')
    .option('--to <period>', 'compare alerts about this period and earlier ones, YYYY-MM')
    .addHelpText('after', LEFT_OUT)
    .addHelpText(
      'after',
      examples(
        'usage-ledger alerts backtest --ratio 2',
        'usage-ledger alerts backtest --ratio 1.5 --ratio 2 --ratio 3 --min-credits 1000 --min-credits 5000',
        'usage-ledger alerts backtest --workspace ws-123 --min-credits 5000 --from 2026-01 --to 2026-06',
        'usage-ledger alerts backtest --rule-file quieter.yml --json',
      ),
    )
    .action((options: BacktestOptions) => runBacktest(cli, options));
}

async function runBacktest(cli: CliContext, options: BacktestOptions): Promise<void> {
  const { from = null, to = null } = parsePeriodWindow(options);
  const [first, last] = windowBounds({ from, to });
  const window = { from: first, to: last };
  const trials = trialsOf(options);
  const workspace = chooseWorkspace(await cli.loadConfig(), options.workspace);
  const proposed: AlertSettings[] = [];
  for (const trial of trials) proposed.push(await proposedSettings(cli, workspace.id, trial));
  if (trials.every(({ own, file }) => own === null && file === undefined)) {
    cli.note("nothing is proposed, so both sides show today's settings; try --ratio, --min-credits or --rule-file");
  }
  await withStopSignal((signal) =>
    cli.withContext(async (context) => {
      const progress = await createReplayView(cli, inertText(workspace.id));
      const { lookbackPeriods, settleHours } = workspace;
      const { history, trials: found } = await backtest({
        ledger: context.reader().connection,
        workspaceId: workspace.id,
        today: { rules: workspace.alerts, lookbackPeriods, settleHours },
        proposed: proposed.map((rules) => ({ rules, lookbackPeriods, settleHours })),
        window,
        signal,
        onProgress: progress.onProgress,
      }).finally(progress.stop);
      const answers = found.map((trial, index): BacktestAnswer => {
        return {
          history,
          ...trial,
          settings: { today: workspace.alerts, proposed: proposed[index] ?? workspace.alerts },
        };
      });
      const [only] = answers;
      const filters = { from_period: options.from ?? null, to_period: options.to ?? null };
      if (cli.json) {
        cli.printJson(
          answers.length === 1 && only !== undefined
            ? backtestJson({ ...only, filters })
            : trialsJson(answers, filters),
        );
        return;
      }
      cli.print(
        answers.length === 1 && only !== undefined
          ? backtestWords(only, cli.tableOptions)
          : trialsWords(answers, cli.tableOptions),
      );
      cli.note('silences, plans, acknowledgements and alerts about ourselves are left out on both sides');
    }),
  );
}

/** Settings to try: single ones, null without any, above those of a file, if one is given. */
interface TrialOptions {
  own: FileAlerts | null;
  file: string | undefined;
}

/** So many settings at once keep a replay within minutes and megabytes. */
const MOST_TRIALS = 12;

/** Every combination of what is given. */
function trialsOf({ ratio = [], minCredits = [], ruleFile = [] }: BacktestOptions): TrialOptions[] {
  const ratios = ratio.map((text) => ({ ratio: parseSetting('ratio', '--ratio', text) }));
  const floors = minCredits.map((text) => ({ min_credits: parseSetting('min_credits', '--min-credits', text) }));
  const orNone = <T>(list: readonly T[]): readonly (T | undefined)[] => (list.length === 0 ? [undefined] : list);
  const trials = orNone(ruleFile).flatMap((file) =>
    orNone(ratios).flatMap((own) =>
      orNone(floors).map((floor) => ({
        own: own === undefined && floor === undefined ? null : { ...own, ...floor },
        file,
      })),
    ),
  );
  if (trials.length <= MOST_TRIALS) return trials;
  throw new UsageError(`these are ${trials.length} combinations`, `give at most ${MOST_TRIALS} at once`);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function parseSetting(setting: 'ratio' | 'min_credits', option: string, text: string): number {
  const value = parseAlertNumber(setting, text);
  if (value !== null) return value;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is out of range`,
    `${option}: ${remedyFor(`defaults.alerts.${setting}`)}`,
  );
}

/** The settings as they would be if they stood in the configuration, with what `defaults` and tenants add to them. */
async function proposedSettings(
  cli: CliContext,
  workspaceId: string,
  { own, file: name }: TrialOptions,
): Promise<AlertSettings> {
  const file = name === undefined ? null : loadAlertsOnTrial(resolve(cli.io.cwd, name), cli.io.env);
  const config = await cli.loadConfig((document) => withAlertsOnTrial(document, workspaceId, { file, own: own ?? {} }));
  return chooseWorkspace(config, workspaceId).alerts;
}
