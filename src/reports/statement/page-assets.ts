import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../../core/process/package-file.ts';
import { documentStyle } from '../../look/style-sheets.ts';
import type { PageAssets } from './tenant-page.tsx';

let cachedAssets: PageAssets | null = null;

/**
 * Returns the style sheet and the script of a tenant's statement page. The build bundles the script from
 * `prove-page.ts`. Both are read from disk on the first call and then kept in memory.
 */
export function pageAssets(): PageAssets {
  if (cachedAssets === null) {
    const script = readFileSync(packageFile('dist', 'prove-page.js'), 'utf8');
    const scriptHash = createHash('sha256').update(script).digest('base64');
    cachedAssets = { style: documentStyle('statement'), script, scriptHash };
  }
  return cachedAssets;
}
