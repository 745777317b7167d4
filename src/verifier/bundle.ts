import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { inertText } from '../core/text/inert-text.ts';
import { verifyStatement } from './verify-statement.ts';

/** The build makes one file of this and all that it imports: `verify-bundle.mjs`, which lies beside what it checks. */
const BUNDLE_USAGE = `usage: node verify-bundle.mjs [--digest DIGEST]

Checks the folder that it lies in. DIGEST is that of the bundle, as it was said when the bundle was made.
Ends with 0 when all agrees, with 4 when it does not, with 2 when nothing could be checked.
`;

interface Manifest {
  files: Record<string, string>;
  statements: { workspace_id: string; file: string; close_digest: string }[];
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let digest: string | undefined;
  let text: string;
  const folder = dirname(fileURLToPath(import.meta.url));
  try {
    digest = parseArgs({ args, options: { digest: { type: 'string' } } }).values.digest?.toLowerCase();
    text = readFileSync(join(folder, 'manifest.json'), 'utf8');
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${BUNDLE_USAGE}`);
    return 2;
  }
  const found = sha256(text);
  const faults = await faultsOf(folder, text).catch(() => ['manifest.json is not the manifest of a bundle']);
  if (digest !== undefined && digest !== found) faults.push(`the bundle has another digest than was given: ${found}`);
  for (const fault of faults) process.stderr.write(`NOT authentic: ${inertText(fault)}\n`);
  if (faults.length > 0) return 4;
  const words =
    digest === undefined ? 'agrees with itself; compare the digest with the one that you were told' : 'authentic';
  process.stdout.write(`${words}\nbundle digest ${found}\n`);
  return 0;
}

async function faultsOf(folder: string, manifest: string): Promise<string[]> {
  const { files, statements } = JSON.parse(manifest) as Manifest;
  const there = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
  const faults = there
    .filter((name) => name !== 'manifest.json' && files[name] === undefined)
    .map((name) => `${name} is not of the bundle`);
  for (const [name, hash] of Object.entries(files)) {
    if (!there.includes(name)) faults.push(`${name} is missing`);
    else if (sha256(readFileSync(join(folder, name))) !== hash) faults.push(`${name} was changed`);
  }
  for (const { workspace_id, file, close_digest } of statements) {
    if (!there.includes(file)) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
    if (!verdict.agrees) faults.push(`${file}: ${verdict.reason}`);
    else if (verdict.closeDigest !== close_digest || verdict.statement.workspace_id !== workspace_id) {
      faults.push(`${file} is of another close than the manifest says`);
    }
  }
  return faults;
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
