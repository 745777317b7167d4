import { resolve } from 'node:path';
import { AppError, UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { readTable } from '../../input-files/read-table.ts';
import type { NamesReport, TenantName } from '../../ledger/journal/charges/names.ts';
import { type Column, formatInteger } from '../../reports/formats/columns.ts';
import { countTenants, type NamedTenantRow, namedTenants } from '../../reports/queries/tenants.ts';
import { chooseWorkspace, foldId, notKnown, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { LIMIT_OPTION, noteMore, putRows, SHEET_OPTION } from '../shared/options.ts';

export function tenantsCommand(cli: CliContext): CliCommand {
  return new CliCommand('tenants')
    .addCommand(importCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(forgetCommand(cli))
    .examples('usage-ledger tenants import customers.csv', 'usage-ledger tenants list');
}

function importCommand(cli: CliContext): CliCommand {
  return reportingCommand('import')
    .description('Take names from a file: tenant_id, display_name, external_ref; other columns are labels.')
    .argument('<file>', 'a CSV file or an Excel workbook, with a header')
    .option(...SHEET_OPTION)
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--dry-run', 'show what would change; change nothing')
    .examples('usage-ledger tenants import customers.csv --dry-run')
    .action((file: string, options: { workspace?: string; dryRun?: boolean; sheet?: string }) =>
      cli.withContext(async (context) => {
        const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
        const names = await readNames(cli.io.cwd, file, options.sheet);
        const writer = await context.existingWriter();
        const dryRun = options.dryRun === true;
        const report = await writer.importNames({ workspaceId, names, dryRun, nowMs: context.clock.now() });
        printReport(cli, report, dryRun);
      }),
    );
}

async function readNames(cwd: string, file: string, sheet: string | undefined): Promise<TenantName[]> {
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
    if (tenant_id.trim() === '') throw new UsageError(`${where}: the cell is empty`, 'give the id of a tenant');
    if (seen.has(tenant_id)) {
      throw new UsageError(`${where}: ${JSON.stringify(tenant_id)} is there a second time`, 'give each tenant once');
    }
    seen.add(tenant_id);
    const given = Object.entries(labels).filter(([, value]) => value !== '');
    return {
      tenantId: tenant_id,
      displayName: display_name || null,
      externalRef: external_ref || null,
      labels: Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  });
}

/** Ids of each kind that are spelt out; the JSON has them all. */
const SHOWN_IDS = 10;

function printReport(cli: CliContext, report: NamesReport, dryRun: boolean): void {
  const { workspaceId, added, changed, unchanged, unknown, missing, shared } = report;
  const would = dryRun ? 'would be ' : '';
  const meant = meantTenants(unknown, missing);
  const record = { workspace_id: workspaceId, dry_run: dryRun, added, changed, unchanged, unknown, missing, shared };
  cli.answer({ ...record, did_you_mean: meant }, [
    `${added.length} ${would}named, ${changed.length} ${would}changed, ${unchanged} as they were`,
    idsLine('not in the ledger, left out', unknown),
    ...meant.slice(0, SHOWN_IDS).map(({ tenant_id, known }) => notKnown(tenant_id, known)),
    idsLine('in the ledger, not in the file', missing),
    ...shared.map(({ reference, tenants }) => idsLine(`with the reference ${inertText(reference)}`, tenants)),
  ]);
}

/** Ids of the file that differ from one of the ledger only in case or surrounding space. */
function meantTenants(unknown: readonly string[], missing: readonly string[]): { tenant_id: string; known: string }[] {
  const byFolded = new Map(missing.map((id) => [foldId(id), id]));
  return unknown.flatMap((id) => {
    const known = byFolded.get(foldId(id));
    return known === undefined ? [] : [{ tenant_id: id, known }];
  });
}

function idsLine(what: string, ids: readonly string[]): string | null {
  if (ids.length === 0) return null;
  const shown = firstOf(ids.slice(0, SHOWN_IDS).map(inertText), SHOWN_IDS, ids.length);
  return `${formatInteger(ids.length)} ${what}: ${shown}`;
}

function forgetCommand(cli: CliContext): CliCommand {
  return reportingCommand('forget')
    .description('Remove the names, references and labels of a tenant. docs/trust.md says what stays.')
    .argument('<tenant>', 'its id')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--yes', 'do it; without this it is only shown')
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
              hint: 'run `usage-ledger tenants list` to see all tenants',
            },
          );
        }
        const { forgotten, named } = report;
        const which = `${counted(forgotten, 'name', 'names')} of ${inertText(tenantId)}`;
        const months = named.join(', ');
        cli.answer({ workspace_id: workspaceId, tenant_id: tenantId, dry_run: dryRun, forgotten, named_in: named }, [
          `${which} ${dryRun ? 'would be taken out, with all labels: add --yes' : 'taken out, with all labels'}`,
          named.length === 0
            ? null
            : `the statements of ${months} go on naming it: a close has committed to them; reopen them first`,
        ]);
        if (dryRun || cli.json) return;
        cli.note(
          'Backups, exports, the copy in Postgres until the next publish, and what was sent have what they had.',
        );
      }),
    );
}

const TENANT_COLUMNS: readonly Column<NamedTenantRow>[] = [
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name' },
  { name: 'external_ref', kind: 'id', header: 'Reference' },
  { name: 'labels', kind: 'text', header: 'Labels', words: (labels) => wordsOf(labels) },
  { name: 'first_seen_at', kind: 'date' },
];

function wordsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function listCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List tenants with names, references and labels.')
    .option('--workspace <id>', 'only this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger tenants list')
    .action(({ workspace, limit }: { workspace?: string; limit?: number }) =>
      cli.withContext((context) => {
        requireKnownWorkspace(context, workspace);
        const { connection } = context.reader();
        const rows = namedTenants(connection, workspace, limit);
        if (rows.length === limit) noteMore(cli, countTenants(connection, workspace) - rows.length);
        if (rows.length === 0) cli.note('the ledger knows no tenant that fits');
        return putRows(cli, rows, TENANT_COLUMNS);
      }),
    );
}
