import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { packageFile } from '../../core/process/package-file.ts';
import { counted } from '../../core/text/words.ts';
import { streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import { writeAtomically } from '../../reports/files/atomic-file.ts';
import { textPieces } from '../../reports/files/write-sheet.ts';
import { documentPieces, renderJson } from '../../reports/formats/json.ts';
import { viewSheet } from '../../reports/queries/finance-view.ts';
import type { MonthEnd } from '../../reports/queries/month-end-record.ts';
import { ZipWriter } from '../../reports/xlsx/zip-writer.ts';
import type { Context } from '../../wiring/context.ts';
import type { CliContext } from '../shared/cli-context.ts';

const VIEWS = ['closes', 'charges', 'charge_lines', 'lines', 'reconciliations'] as const;

const README = `A month's end, as its ledger has it

month-end.json        each workspace: closed or not, reconciled or not, what it comes to; what \`verify\` found, and the head
closes.csv            who closed and reopened the month, with the digest of each close
charges.csv           the index of the statements: tenant, reference, amount, number, number of the invoice
charge_lines.csv      the lines of these; lines.csv: what was added by hand
reconciliations.csv   what comparisons with the invoices have found, and the SHA-256 of the invoices' files
statements/           the statements of each closed workspace, with their proof
manifest.json         the SHA-256 of each file; its own is the digest of the bundle

Unpack it into an empty folder, and type there, with Node 20 or later:

    node verify-bundle.mjs --digest DIGEST

DIGEST is that of the bundle, as you were told it by another route than this file: without it the files only agree with
each other, for whoever changes one can write the manifest anew. The digests of the closes prove the statements by
themselves: node verify-statement.mjs STATEMENT.json --digest CLOSE
`;

/** Writes what an auditor needs of a month into one file that checks itself, all of one moment. */
export async function writeBundle(cli: CliContext, context: Context, plan: MonthEnd, out: string): Promise<void> {
  const { period, workspaces } = plan;
  const closed = workspaces.filter(({ state }) => state === 'closed').map(({ workspace_id }) => workspace_id);
  if (closed.length === 0) throw new UsageError(`nothing of ${period} is closed`, 'a bundle is made of closed months');
  const { connection } = context.reader();
  const files: Record<string, string> = {};
  const statements: { workspace_id: string; file: string; close_digest: string }[] = [];
  let digest = '';
  const fill = async (path: string): Promise<void> => {
    const file = openSync(path, 'r+');
    const zip = new ZipWriter(file);
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
    try {
      await add('README.txt', [README]);
      await add('month-end.json', [renderJson(plan)]);
      for (const view of VIEWS) {
        const { rows, ...sheet } = viewSheet(connection, view, { period });
        const at = sheet.columns.findIndex(({ name }) => name === 'workspace_id');
        const own = function* () {
          for (const row of rows) if (workspaces.some(({ workspace_id: id }) => id === row[at])) yield row;
        };
        await add(`${view}.csv`, textPieces({ ...sheet, rows: own() }, 'csv', { raw: true }));
      }
      for (const workspaceId of closed) {
        const stream = streamStatement(connection, { workspaceId, period, nowMs: context.clock.now() });
        if (stream === null || stream.end.proof === null) continue;
        const { begin, end, tenants } = stream;
        const name = `statements/${statements.length + 1}.json`;
        await add(name, documentPieces(begin, tenants(), { name: 'tenants', tail: end }));
        statements.push({ workspace_id: workspaceId, file: name, close_digest: stream.end.proof.close_digest });
      }
      for (const name of ['verify-statement.mjs', 'verify-bundle.mjs']) {
        await add(name, [readFileSync(packageFile('dist', name), 'utf8')]);
      }
      digest = await add('manifest.json', [renderJson({ period, head_digest: plan.head_digest, files, statements })]);
      zip.end();
    } finally {
      closeSync(file);
    }
  };
  connection.exec('BEGIN');
  try {
    await writeAtomically(resolve(cli.io.cwd, out), fill);
  } finally {
    connection.exec('ROLLBACK');
  }
  const words = `${counted(statements.length, 'closed workspace')} of ${period} in ${out}`;
  cli.answer({ period, file: out, statements, digest }, [words, `bundle digest ${digest}`]);
}
