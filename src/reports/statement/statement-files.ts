import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StatementDocument, statementOfTenant } from '../../billing/statement/document.ts';
import type { InvoiceOf } from '../../ledger/journal/charges/invoice-numbers.ts';
import type { StatementStream } from '../../ledger/journal/charges/read-statement.ts';
import { type Column, sheetOf } from '../formats/columns.ts';
import { type CsvStyle, csvPieces } from '../formats/csv.ts';
import { renderJson } from '../formats/json.ts';
import { pageScript } from './page-script.ts';
import { linesOf, STATEMENT_COLUMNS } from './statement-lines.ts';
import { tenantPage } from './tenant-page.ts';

export const TENANT_FORMATS = ['html', 'json', 'csv'] as const;
export type TenantFormat = (typeof TENANT_FORMATS)[number];

export function tenantText(
  statement: StatementDocument,
  format: TenantFormat,
  { style, invoiceOf }: { style: CsvStyle; invoiceOf: InvoiceOf },
): string {
  if (format === 'json') return renderJson(statement);
  if (format === 'html') return tenantPage(statement, pageScript());
  const name = `statement ${statement.period}`;
  const lines = linesOf(statement, statement.tenants, invoiceOf);
  return [...csvPieces(sheetOf(name, STATEMENT_COLUMNS, lines), style)].join('');
}

/** A statement in its folder, by currency; one without a price has one row. */
export interface StatementFile {
  workspace_id: string;
  tenant_id: string;
  external_ref: string | null;
  invoice_number: string | null;
  statement_number: string | null;
  /** Below the folder of all; a second format lies beside it under the same name. */
  file: string;
  amount: string | null;
  currency: string | null;
  /** Of the close; null of an estimate. */
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
  /** Called behind each tenant, with how many of its files were there already. */
  onTenant: (kept: number) => void;
}

/**
 * Writes the statements of a period, each into files of its own, and gives what the index says of them. A file of a closed period
 * that is there already is the same to the byte, because the folder is named after the close: it stays, so that who was broken
 * off goes on. Estimates are written anew.
 */
export function* writeStatements(
  { begin, end, tenants, invoiceOf }: StatementStream,
  { folder, formats, style, onTenant }: FilesRequest,
): Generator<StatementFile> {
  const { workspace_id, state, period } = begin;
  const digest = end.proof?.close_digest ?? null;
  const own = `${period}-${slug(workspace_id)}-${digest === null ? `estimate-${key(workspace_id)}` : digest.slice(0, 16)}`;
  const place = join(folder, own);
  mkdirSync(place, { recursive: true, mode: 0o700 });
  for (const left of readdirSync(place)) if (/^\..*\.part$/.test(left)) rmSync(join(place, left));
  for (const tenant of tenants()) {
    const { tenant_id, external_ref, totals, statement_number = null } = tenant;
    const name = `${slug(tenant_id)}-${key(`${workspace_id}\0${tenant_id}`)}`;
    const missing = formats.filter((format) => state !== 'closed' || !isWhole(join(place, `${name}.${format}`)));
    const statement = missing.length === 0 ? null : statementOfTenant(begin, tenant, end);
    for (const format of missing) {
      if (statement !== null)
        writeWhole(place, `${name}.${format}`, tenantText(statement, format, { style, invoiceOf }));
    }
    const file = `${own}/${name}.${formats[0]}`;
    const said = { workspace_id, tenant_id, external_ref, statement_number, file, digest };
    for (const { amount, currency } of totals) {
      yield { ...said, invoice_number: invoiceOf(tenant_id, currency), amount, currency };
    }
    if (totals.length === 0) yield { ...said, invoice_number: null, amount: null, currency: null };
    onTenant(formats.length - missing.length);
  }
}

const SLUG_LENGTH = 40;

/** Small ASCII letters, digits and hyphens, which every system takes; what tells ids apart is the key behind it. */
function slug(id: string): string {
  const plain = id
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return plain.slice(0, SLUG_LENGTH).replaceAll(/^-|-$/g, '') || 'id';
}

/** 64 bits: a million ids that begin alike get one twice in one of forty million folders. */
function key(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 16);
}

/** A power failure may leave the name of a file without its bytes. */
function isWhole(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Whoever looks sees the whole file or none, readable by its owner alone. Nothing waits for the disk: a lost one is made again. */
function writeWhole(folder: string, name: string, text: string): void {
  const part = join(folder, `.${name}.part`);
  writeFileSync(part, text, { mode: 0o600 });
  renameSync(part, join(folder, name));
}
