import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../../core/process/package-file.ts';
import type { PageScript } from './tenant-page.ts';

let cachedScript: PageScript | null = null;

/**
 * Returns the script of a statement's page. The build bundles it from `prove-page.ts`. It is read on first use and then
 * kept.
 */
export function pageScript(): PageScript {
  if (cachedScript === null) {
    const text = readFileSync(packageFile('dist', 'prove-page.js'), 'utf8');
    cachedScript = { text, sha256: createHash('sha256').update(text).digest('base64') };
  }
  return cachedScript;
}
