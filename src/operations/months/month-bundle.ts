import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { UsageError } from '../../core/errors.ts';
import { packageFile } from '../../core/process/package-file.ts';
import { streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { textPieces } from '../../reports/files/write-sheet.ts';
import type { Sheet } from '../../reports/formats/columns.ts';
import { documentPieces, renderJson } from '../../reports/formats/json.ts';
import { viewSheet } from '../../reports/queries/finance-view.ts';
import type { MonthEnd } from '../../reports/queries/month-end-record.ts';
import { ZipWriter } from '../../reports/xlsx/zip-writer.ts';
import type { Context } from '../../wiring/context.ts';

/** A description of what a bundle contains. */
export interface MonthBundle {
  /** One statement for each workspace that has closed the month. */
  statements: { workspace_id: string; file: string; close_digest: string }[];
  /** The SHA-256 of the manifest, in hex. Whoever has this digest can verify all files of the bundle. */
  digest: string;
}

const BUNDLE_VIEWS = ['closes', 'charges', 'charge_lines', 'lines', 'reconciliations'] as const;

const BUNDLE_README = `Month-end bundle of a usage ledger

month-end.json        for each workspace: state, reconciliation and total; the result of \`verify\`; the head digest
closes.csv            each close and reopening of the month: actor, time, digest
charges.csv           index of the statements: tenant, reference, amount, statement number, invoice number
charge_lines.csv      the lines of the charges
lines.csv             the manual lines
reconciliations.csv   results of comparisons with invoices, and the SHA-256 of the invoice files
statements/           the statements of each closed workspace, with their proofs
manifest.json         the SHA-256 of each file; the SHA-256 of manifest.json is the bundle digest

Unpack the bundle into an empty folder and run there, with Node 20 or later:

    node verify-bundle.mjs --digest DIGEST

DIGEST is the bundle digest, which you must have received separately from this file. Without it, the check only shows that
the files match each other: anyone who changes a file can also rewrite the manifest. Each statement can also be verified
alone, with the digest of its close: node verify-statement.mjs STATEMENT.json --digest CLOSE
`;

/** Throws UsageError if no workspace has closed the month: the bundle would prove nothing. */
export function requireClosed({ period, workspaces }: MonthEnd): void {
  if (workspaces.some(({ state }) => state === 'closed')) return;
  throw new UsageError(`no workspace is closed for ${period}`, 'close at least one workspace first');
}

/**
 * Writes a ZIP file for auditors. It contains a month's closes, charges and statements, and the programs that verify
 * them. The bytes are passed to `write` in pieces. All data is read in one transaction, on a separate connection.
 * Throws UsageError if no workspace has closed the month.
 */
export async function writeMonthBundle(
  context: Pick<Context, 'config' | 'clock'>,
  plan: MonthEnd,
  write: (bytes: Uint8Array) => Promise<void> | void,
): Promise<MonthBundle> {
  requireClosed(plan);
  const reader = openReader(context.config.ledger.path);
  try {
    reader.connection.exec('BEGIN');
    return await fillBundle(reader.connection, { plan, nowMs: context.clock.now(), zip: new ZipWriter(write) });
  } finally {
    reader.close();
  }
}

async function fillBundle(
  connection: LedgerDb,
  { plan, nowMs, zip }: { plan: MonthEnd; nowMs: number; zip: ZipWriter },
): Promise<MonthBundle> {
  const { period, workspaces } = plan;
  const files: Record<string, string> = {};
  const statements: MonthBundle['statements'] = [];
  const add = async (name: string, pieces: Iterable<string>): Promise<string> => {
    const hash = createHash('sha256');
    const hashed = function* (): Generator<string> {
      for (const piece of pieces) {
        hash.update(piece);
        yield piece;
      }
    };
    await zip.add(name, hashed());
    files[name] = hash.digest('hex');
    return files[name];
  };
  await add('README.txt', [BUNDLE_README]);
  await add('month-end.json', [renderJson(plan)]);
  const ids = workspaces.map(({ workspace_id: id }) => id);
  for (const view of BUNDLE_VIEWS) {
    const sheet = rowsOfWorkspaces(viewSheet(connection, view, { period }), ids);
    await add(`${view}.csv`, textPieces(sheet, 'csv', { raw: true }));
  }
  for (const { workspace_id: workspaceId, state } of workspaces) {
    const stream = state === 'closed' ? streamStatement(connection, { workspaceId, period, nowMs }) : null;
    if (stream === null || stream.end.proof === null) continue;
    const { begin, end, tenants } = stream;
    const name = `statements/${statements.length + 1}.json`;
    await add(name, documentPieces(begin, tenants(), { name: 'tenants', tail: end }));
    statements.push({ workspace_id: workspaceId, file: name, close_digest: stream.end.proof.close_digest });
  }
  for (const name of ['verify-statement.mjs', 'verify-bundle.mjs']) {
    await add(name, [readFileSync(packageFile('dist', name), 'utf8')]);
  }
  const digest = await add('manifest.json', [renderJson({ period, head_digest: plan.head_digest, files, statements })]);
  await zip.end();
  return { statements, digest };
}

function rowsOfWorkspaces({ rows, ...sheet }: Sheet, ids: readonly string[]): Sheet {
  const at = sheet.columns.findIndex(({ name }) => name === 'workspace_id');
  const selected = function* () {
    for (const row of rows) if (ids.some((id) => id === row[at])) yield row;
  };
  return { ...sheet, rows: selected() };
}
