import { Command, Option } from 'commander';
import { billedTenants } from '../../billing/book/read-billed.ts';
import { findBilledPeriod } from '../../billing/book/read-statement.ts';
import { FOCUS_VERSIONS, type FocusVersion } from '../../billing/focus/focus-columns.ts';
import { focusHeader, focusLines } from '../../billing/focus/focus-csv.ts';
import { focusRows } from '../../billing/focus/focus-rows.ts';
import type { FocusConfig } from '../../config/types.ts';
import { parsePeriod } from '../../core/period.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, plainCommand } from '../shared/cli-context.ts';
import { bringRatesIntoForce } from './statement.ts';

interface FocusOptions {
  period: string;
  workspace?: string;
  focusVersion: FocusVersion;
}

export function exportCommand(cli: CliContext): Command {
  return new Command('export')
    .addCommand(focusCommand(cli))
    .addHelpText('after', examples('usage-ledger export focus --period 2026-02 > focus-2026-02.csv'));
}

function focusCommand(cli: CliContext): Command {
  return plainCommand('focus')
    .description('What a period costs as rows of FOCUS, the FinOps Open Cost and Usage Specification, in CSV.')
    .requiredOption('--period <period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .addOption(
      new Option('--focus-version <version>', 'version of the specification').choices(FOCUS_VERSIONS).default('1.2'),
    )
    .addHelpText('after', examples('usage-ledger export focus --period 2026-02 > focus-2026-02.csv'))
    .action((options: FocusOptions) => cli.withContext((context) => exportFocus(cli, context, options)));
}

async function exportFocus(cli: CliContext, context: Context, options: FocusOptions): Promise<void> {
  const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
  const period = parsePeriod(options.period, '--period');
  await bringRatesIntoForce(context);
  const { connection } = context.reader();
  let unpriced = 0;
  // One transaction, so that all rows are of one moment.
  connection.transaction(() => {
    cli.printDocument(focusHeader(options.focusVersion));
    const billed = findBilledPeriod(connection, { workspaceId, period, nowMs: context.clock.now() });
    if (billed === null) {
      cli.note(`the ledger has nothing of ${period}`);
      return;
    }
    const names = namesOf(context.config.focus, billed.workspaceName);
    for (const tenant of billedTenants(connection, billed.place)) {
      if (tenant.lines.length === 0) unpriced += 1;
      else cli.printDocument(focusLines(focusRows(billed, tenant, names), options.focusVersion));
    }
  })();
  if (unpriced > 0) cli.note(`${unpriced} tenants have no rate card and are left out`);
}

function namesOf(focus: FocusConfig, workspaceName: string) {
  return {
    issuer: focus.issuer ?? workspaceName,
    publisher: focus.publisher ?? focus.issuer ?? workspaceName,
    serviceName: focus.serviceName ?? focus.publisher ?? workspaceName,
    serviceCategory: focus.serviceCategory,
    serviceSubcategory: focus.serviceSubcategory,
  };
}
