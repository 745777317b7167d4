import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inertText } from '../core/text/inert-text.ts';
import { verifyStatement } from './verify-statement.ts';

// The build makes `verify-statement.mjs` from this file and its imports. The script runs on Node 18 or newer.

const STATEMENT_USAGE = `usage: node verify-statement.mjs STATEMENT.json --digest DIGEST

Checks the statement of a closed period. DIGEST is the digest that was recorded when the period was closed.
Exit codes: 0 if the statement is authentic, 4 if it is not, 2 if nothing could be checked.
`;

process.exitCode = await verifyStatementCommand(process.argv.slice(2));

async function verifyStatementCommand(args: string[]): Promise<number> {
  let text: string;
  let digest: string;
  try {
    ({ text, digest } = readArguments(args));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${STATEMENT_USAGE}`);
    return 2;
  }
  const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
  if (!verdict.isConsistent) return refuseFile(verdict.reason);
  if (verdict.closeDigest !== digest) return refuseFile('the digest of its close does not match the given digest');
  process.stdout.write('authentic\n');
  return 0;
}

function readArguments(args: string[]): { text: string; digest: string } {
  const { values, positionals } = parseArgs({ args, options: { digest: { type: 'string' } }, allowPositionals: true });
  const digest = values.digest?.toLowerCase() ?? '';
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new Error('give exactly one statement file');
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error('--digest must be 64 hexadecimal digits');
  return { text: readFileSync(file, 'utf8'), digest };
}

function refuseFile(reason: string): number {
  process.stderr.write(`NOT authentic: ${inertText(reason)}\n`);
  return 4;
}
