import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inertText } from '../core/text/inert-text.ts';
import { verifyStatement } from './verify-statement.ts';

/** The build makes one file of this and all that it imports, which any Node from 18 on runs: `verify-statement.mjs`. */
const STATEMENT_USAGE = `usage: node verify-statement.mjs STATEMENT.json --digest DIGEST

Checks the statement of a closed period. DIGEST is that of its close, as it was kept when the period was closed.
Ends with 0 when the statement is authentic, with 4 when it is not, with 2 when nothing could be checked.
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let text: string;
  let digest: string;
  try {
    ({ text, digest } = read(args));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${STATEMENT_USAGE}`);
    return 2;
  }
  const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
  if (!verdict.agrees) return refuse(verdict.reason);
  if (verdict.closeDigest !== digest) return refuse('its close has another digest than was given');
  process.stdout.write('authentic\n');
  return 0;
}

function read(args: string[]): { text: string; digest: string } {
  const { values, positionals } = parseArgs({ args, options: { digest: { type: 'string' } }, allowPositionals: true });
  const digest = values.digest?.toLowerCase() ?? '';
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new Error('one statement is wanted');
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error('--digest wants 64 hexadecimal digits');
  return { text: readFileSync(file, 'utf8'), digest };
}

function refuse(reason: string): number {
  process.stderr.write(`NOT authentic: ${inertText(reason)}\n`);
  return 4;
}
