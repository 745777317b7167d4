import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StatementDocument, statementOfTenant } from '../../billing/statement/document.ts';
import type { InvoiceNumberLookup } from '../../ledger/journal/charges/invoice-numbers.ts';
import type { StatementStream } from '../../ledger/journal/charges/read-statement.ts';
import { type Column, sheetOf } from '../formats/columns.ts';
import { type CsvStyle, csvPieces } from '../formats/csv.ts';
import { renderJson } from '../formats/json.ts';
import { pageAssets } from './page-assets.ts';
import { STATEMENT_COLUMNS, statementLines } from './statement-lines.ts';
import { tenantPage } from './tenant-page.tsx';

export const TENANT_FORMATS = ['html', 'json', 'csv'] as const;
export type TenantFormat = (typeof TENANT_FORMATS)[number];

export function tenantText(
  statement: StatementDocument,
  format: TenantFormat,
  { style, invoiceOf }: { style: CsvStyle; invoiceOf: InvoiceNumberLookup },
): string {
  if (format === 'json') return renderJson(statement);
  if (format === 'html') return tenantPage(statement, pageAssets());
  const name = `statement ${statement.period}`;
  const lines = statementLines(statement, statement.tenants, invoiceOf);
  return [...csvPieces(sheetOf(name, STATEMENT_COLUMNS, lines), style)].join('');
}

/**
 * A row in the index of the folder. A statement has one row for each currency, or a single row if the statement has no
 * price.
 */
export interface StatementFile {
  workspace_id: string;
  tenant_id: string;
  external_ref: string | null;
  invoice_number: string | null;
  statement_number: string | null;
  /**
   * The path of the statement's file, relative to the output folder. Files in further formats differ only in the
   * extension.
   */
  file: string;
  amount: string | null;
  currency: string | null;
  /** The digest of the close; null if the month is not closed, so that the statement is an estimate. */
  digest: string | null;
}

export const INDEX_COLUMNS: readonly Column<StatementFile>[] = [
  { name: 'workspace_id', kind: 'id' },
  { name: 'tenant_id', kind: 'id' },
  { name: 'external_ref', kind: 'id' },
  { name: 'invoice_number', kind: 'text' },
  { name: 'statement_number', kind: 'text' },
  { name: 'file', kind: 'text' },
  { name: 'amount', kind: 'amount' },
  { name: 'currency', kind: 'text' },
  { name: 'digest', kind: 'text' },
];

export interface FilesRequest {
  folder: string;
  formats: readonly TenantFormat[];
  style: CsvStyle;
  /** Called after each tenant. `kept` is the number of the tenant's files that existed and were not written again. */
  onTenant: (kept: number) => void;
}

/**
 * Writes the statement of each tenant to files of its own, and yields the rows of the index. For a closed period, files
 * that exist are not written again, so that an interrupted run can continue. This is safe because the folder is named
 * after the close, so the files would be the same to the byte. Files of an estimate are always written again.
 */
export function* writeStatements(
  { begin, end, tenants, invoiceOf }: StatementStream,
  { folder, formats, style, onTenant }: FilesRequest,
): Generator<StatementFile> {
  const { workspace_id, state, period } = begin;
  const digest = end.proof?.close_digest ?? null;
  const periodFolder = `${period}-${slug(workspace_id)}-${digest === null ? `estimate-${idKey(workspace_id)}` : digest.slice(0, 16)}`;
  const target = join(folder, periodFolder);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const left of readdirSync(target)) if (/^\..*\.part$/.test(left)) rmSync(join(target, left));
  for (const tenant of tenants()) {
    const { tenant_id, external_ref, totals, statement_number = null } = tenant;
    const name = fileName(workspace_id, tenant_id);
    const missing = formats.filter((format) => state !== 'closed' || !isWhole(join(target, `${name}.${format}`)));
    const statement = missing.length === 0 ? null : statementOfTenant(begin, tenant, end);
    for (const format of missing) {
      if (statement !== null)
        writeWhole(target, `${name}.${format}`, tenantText(statement, format, { style, invoiceOf }));
    }
    const file = `${periodFolder}/${name}.${formats[0]}`;
    const common = { workspace_id, tenant_id, external_ref, statement_number, file, digest };
    for (const { amount, currency } of totals) {
      yield { ...common, invoice_number: invoiceOf(tenant_id, currency), amount, currency };
    }
    if (totals.length === 0) yield { ...common, invoice_number: null, amount: null, currency: null };
    onTenant(formats.length - missing.length);
  }
}

/** Returns the path of a tenant's statement in an archive, without its extension. */
export function statementFileName(workspaceId: string, tenantId: string): string {
  return `${slug(workspaceId)}-${idKey(workspaceId)}/${fileName(workspaceId, tenantId)}`;
}

function fileName(workspaceId: string, tenantId: string): string {
  return `${slug(tenantId)}-${idKey(`${workspaceId}\0${tenantId}`)}`;
}

const SLUG_LENGTH = 40;

/**
 * Reduces an id to lower-case ASCII letters, digits and hyphens, which are valid in every file system. Different ids
 * can give the same result, so file names also contain `idKey`.
 */
function slug(id: string): string {
  const plain = id
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return plain.slice(0, SLUG_LENGTH).replaceAll(/^-|-$/g, '') || 'id';
}

/**
 * Returns the first 64 bits of the id's hash, in hex. With a million ids in a folder, the chance that two ids have the
 * same key is one in forty million.
 */
function idKey(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 16);
}

/** Reports whether the file exists and is not empty. A power failure may leave an empty file. */
function isWhole(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Writes a file atomically. Only the owner can read it. Does not wait until the file is on disk: if a power failure
 * loses the file, the next run writes it again.
 */
function writeWhole(folder: string, name: string, text: string): void {
  const part = join(folder, `.${name}.part`);
  writeFileSync(part, text, { mode: 0o600 });
  renameSync(part, join(folder, name));
}
