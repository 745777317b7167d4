import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../../core/process/package-file.ts';
import type { PageScript } from './tenant-page.ts';

let script: PageScript | null = null;

/** Returns the script of a statement's page. The build bundles it from `prove-page.ts`; it is read once, on first use. */
export function pageScript(): PageScript {
  if (script === null) {
    const text = readFileSync(packageFile('dist', 'prove-page.js'), 'utf8');
    script = { text, sha256: createHash('sha256').update(text).digest('base64') };
  }
  return script;
}
