import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { inertText } from '../core/text/inert-text.ts';
import { verifyStatement } from './verify-statement.ts';

// The build makes `verify-bundle.mjs` from this file and its imports. The script checks the folder that contains it.

const BUNDLE_USAGE = `usage: node verify-bundle.mjs [--digest DIGEST]

Checks the folder that contains this file. DIGEST is the digest that was printed when the bundle was made.
Exit codes: 0 if everything matches, 4 if it does not, 2 if nothing could be checked.
`;

interface Manifest {
  files: Record<string, string>;
  statements: { workspace_id: string; file: string; close_digest: string }[];
}

process.exitCode = await verifyBundleCommand(process.argv.slice(2));

async function verifyBundleCommand(args: string[]): Promise<number> {
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
  const actual = sha256Hex(text);
  const faults = await findFaults(folder, text).catch(() => ['manifest.json is not a bundle manifest']);
  if (digest !== undefined && digest !== actual)
    faults.push(`the digest of the bundle does not match the given digest: it is ${actual}`);
  for (const fault of faults) process.stderr.write(`NOT authentic: ${inertText(fault)}\n`);
  if (faults.length > 0) return 4;
  const words =
    digest === undefined ? 'consistent: compare the digest with the one that you received separately' : 'authentic';
  process.stdout.write(`${words}\nbundle digest ${actual}\n`);
  return 0;
}

async function findFaults(folder: string, manifest: string): Promise<string[]> {
  const { files, statements } = JSON.parse(manifest) as Manifest;
  const present = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
  const faults = present
    .filter((name) => name !== 'manifest.json' && files[name] === undefined)
    .map((name) => `${name} is not part of the bundle`);
  for (const [name, hash] of Object.entries(files)) {
    if (!present.includes(name)) faults.push(`${name} is missing`);
    else if (sha256Hex(readFileSync(join(folder, name))) !== hash) faults.push(`${name} was changed`);
  }
  for (const { workspace_id, file, close_digest } of statements) {
    if (!present.includes(file)) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    const verdict = await verifyStatement(text, (data) => createHash('sha256').update(data).digest());
    if (!verdict.isConsistent) faults.push(`${file}: ${verdict.reason}`);
    else if (verdict.closeDigest !== close_digest || verdict.statement.workspace_id !== workspace_id) {
      faults.push(`${file} belongs to a different close than manifest.json says`);
    }
  }
  return faults;
}

function sha256Hex(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
