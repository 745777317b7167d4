import { resolve } from 'node:path';
import { AppError, UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { readTable } from '../../input-files/read-table.ts';
import type { NamesReport, TenantName } from '../../ledger/journal/charges/names.ts';
import { listTenants, TENANT_COLUMNS } from '../../operations/tenants/list-tenants.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { countTenants } from '../../reports/queries/tenants.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { foldId, unknownTenantHint } from '../shared/missing-tenant.ts';
import { LIMIT_OPTION, noteMore, printRows, SHEET_OPTION } from '../shared/options.ts';

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
        const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
        const names = await readNamesFile(cli.io.cwd, file, options.sheet);
        const writer = await context.existingWriter();
        const dryRun = options.dryRun === true;
        const report = await writer.importNames({ workspaceId, names, dryRun, nowMs: context.clock.now() });
        printReport(cli, report, dryRun);
      }),
    );
}

async function readNamesFile(cwd: string, file: string, sheet: string | undefined): Promise<TenantName[]> {
  const table = await readTable(readInputFile(resolve(cwd, file), file), {
    required: ['tenant_id'],
    optional: ['display_name', 'external_ref'],
    keepsOthers: true,
    sheet,
  });
  const seen = new Set<string>();
  return table.rows.map((row) => {
    const { tenant_id = '', display_name, external_ref, ...labels } = row.record;
    const where = table.place(row, 'tenant_id');
    if (tenant_id.trim() === '')
      throw new UsageError(`${where}: the tenant id is empty`, 'fill in the id, or delete the row');
    if (seen.has(tenant_id)) {
      throw new UsageError(`${where}: ${JSON.stringify(tenant_id)} appears twice`, 'list each tenant once');
    }
    seen.add(tenant_id);
    const filled = Object.entries(labels).filter(([, value]) => value !== '');
    return {
      tenantId: tenant_id,
      displayName: display_name || null,
      externalRef: external_ref || null,
      labels: Object.fromEntries(filled.sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  });
}

/** Maximum ids listed per group; the JSON output has all of them. */
const MAX_SHOWN_IDS = 10;

function printReport(cli: CliContext, report: NamesReport, dryRun: boolean): void {
  const { workspaceId, added, changed, unchanged, unknown, missing, shared } = report;
  const would = dryRun ? 'would be ' : '';
  const suggestions = likelyTenants(unknown, missing);
  const record = { workspace_id: workspaceId, dry_run: dryRun, added, changed, unchanged, unknown, missing, shared };
  cli.printResult({ ...record, did_you_mean: suggestions }, [
    `${added.length} ${would}named, ${changed.length} ${would}changed, ${unchanged} unchanged`,
    idsLine('not in the ledger, skipped', unknown),
    ...suggestions.slice(0, MAX_SHOWN_IDS).map(({ tenant_id, known }) => unknownTenantHint(tenant_id, known)),
    idsLine('in the ledger only', missing),
    ...shared.map(({ reference, tenants }) => idsLine(`sharing the reference ${inertText(reference)}`, tenants)),
  ]);
}

/** Finds ids of the file that differ from an id of the ledger only in case or surrounding space. */
function likelyTenants(unknown: readonly string[], missing: readonly string[]): { tenant_id: string; known: string }[] {
  const byFolded = new Map(missing.map((id) => [foldId(id), id]));
  return unknown.flatMap((id) => {
    const known = byFolded.get(foldId(id));
    return known === undefined ? [] : [{ tenant_id: id, known }];
  });
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
        const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
        const dryRun = options.yes !== true;
        const writer = await context.existingWriter();
        const report = await writer.forgetNames({ workspaceId, tenantId, dryRun, nowMs: context.clock.now() });
        if (report === null) {
          throw new AppError(
            'unknown_tenant',
            `workspace ${JSON.stringify(workspaceId)} has no tenant ${JSON.stringify(tenantId)}`,
            {
              hint: 'see `usage-ledger tenants list`',
            },
          );
        }
        const { forgotten, named } = report;
        const names = `${counted(forgotten, 'name')} of ${inertText(tenantId)}`;
        const months = named.join(', ');
        cli.printResult(
          { workspace_id: workspaceId, tenant_id: tenantId, dry_run: dryRun, forgotten, named_in: named },
          [
            `${names} and all labels ${dryRun ? 'would be removed: add --yes to remove them' : 'removed'}`,
            named.length === 0
              ? null
              : `the closed statements of ${months} keep the name: reopen those months first to remove it`,
          ],
        );
        if (dryRun || cli.json) return;
        cli.note(
          'Backups, exports and sent messages keep the name; the copy in Postgres keeps it until the next publish.',
        );
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
        if (rows.length === limit) noteMore(cli, countTenants(scope.connection, workspace) - rows.length);
        if (rows.length === 0) cli.note('no tenant matches');
        return printRows(cli, rows, TENANT_COLUMNS);
      }),
    );
}
