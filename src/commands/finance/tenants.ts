import { resolve } from 'node:path';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { forgetTenant } from '../../operations/tenants/forget-tenant.ts';
import { importNames } from '../../operations/tenants/import-names.ts';
import { listTenants, TENANT_COLUMNS } from '../../operations/tenants/list-tenants.ts';
import { readNamesFile } from '../../operations/tenants/names-file.ts';
import { unknownTenantHint } from '../../operations/tenants/similar-ids.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { countTenants } from '../../reports/queries/tenants.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { LIMIT_OPTION, noteOmittedRows, printRows, SHEET_OPTION } from '../shared/options.ts';

export function tenantsCommand(cli: CliContext): CliCommand {
  return new CliCommand('tenants')
    .addCommand(importCommand(cli))
    .addCommand(listTenantsCommand(cli))
    .addCommand(forgetCommand(cli))
    .examples('usage-ledger tenants import customers.csv', 'usage-ledger tenants list');
}

function importCommand(cli: CliContext): CliCommand {
  return reportingCommand('import')
    .description('Import names from a file: tenant_id, display_name, external_ref; other columns become labels.')
    .argument('<file>', 'a CSV file or Excel workbook with a header row')
    .option(...SHEET_OPTION)
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--dry-run', 'show what would change, without changing it')
    .examples('usage-ledger tenants import customers.csv --dry-run')
    .action((file: string, options: { workspace?: string; dryRun?: boolean; sheet?: string }) =>
      cli.withContext(async (context) => {
        const names = await readNamesFile(readInputFile(resolve(cli.io.cwd, file), file), options.sheet);
        const input = { workspace: options.workspace, names, dry_run: options.dryRun === true };
        const { document } = await importNames.run(scopeOf(context), input);
        printReport(cli, document);
      }),
    );
}

/** At most this many ids are printed in a group. The JSON output has all of them. */
const MAX_SHOWN_IDS = 10;

function printReport(cli: CliContext, report: Awaited<ReturnType<typeof importNames.run>>['document']): void {
  const { added, changed, unchanged, unknown, missing, shared, did_you_mean: suggestions } = report;
  const would = report.dry_run ? 'would be ' : '';
  cli.printResult(report, [
    `${added.length} ${would}named, ${changed.length} ${would}changed, ${unchanged} unchanged`,
    idsLine('not in the ledger, skipped', unknown),
    ...suggestions.slice(0, MAX_SHOWN_IDS).map(({ tenant_id, known }) => unknownTenantHint(tenant_id, known)),
    idsLine('in the ledger only', missing),
    ...shared.map(({ reference, tenants }) => idsLine(`sharing the reference ${inertText(reference)}`, tenants)),
  ]);
}

function idsLine(what: string, ids: readonly string[]): string | null {
  if (ids.length === 0) return null;
  const shown = firstOf(ids.slice(0, MAX_SHOWN_IDS).map(inertText), MAX_SHOWN_IDS, ids.length);
  return `${formatInteger(ids.length)} ${what}: ${shown}`;
}

function forgetCommand(cli: CliContext): CliCommand {
  return reportingCommand('forget')
    .description('Remove the names, references and labels of a tenant. docs/trust.md lists what remains.')
    .argument('<tenant>', 'the tenant id')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--yes', 'remove them; without this they are only shown')
    .examples('usage-ledger tenants forget acme --yes')
    .action((tenantId: string, options: { workspace?: string; yes?: boolean }) =>
      cli.withContext(async (context) => {
        const input = { tenant_id: tenantId, workspace: options.workspace, dry_run: options.yes !== true };
        const { document, applied, notes } = await forgetTenant.run(scopeOf(context), input);
        const { forgotten, named_in: named } = document;
        const names = `${counted(forgotten, 'name')} of ${inertText(tenantId)}`;
        const months = named.join(', ');
        cli.printResult(document, [
          `${names} and all labels ${applied ? 'removed' : 'would be removed: add --yes to remove them'}`,
          named.length === 0
            ? null
            : `the closed statements of ${months} keep the name: reopen those months first to remove it`,
        ]);
        if (!cli.json) cli.noteAll(notes);
      }),
    );
}

function listTenantsCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List tenants with names, references and labels.')
    .option('--workspace <id>', 'only this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger tenants list')
    .action(({ workspace, limit }: { workspace?: string; limit?: number }) =>
      cli.withContext((context) => {
        const scope = scopeOf(context);
        const rows = [...listTenants.run(scope, { workspace }, { after: null, limit: limit ?? null }).rows];
        if (rows.length === limit) noteOmittedRows(cli, countTenants(scope.connection, workspace) - rows.length);
        if (rows.length === 0) cli.note('no tenant matches');
        return printRows(cli, rows, TENANT_COLUMNS);
      }),
    );
}
