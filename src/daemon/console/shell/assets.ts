import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageFile } from '../../../core/process/package-file.ts';

export interface Asset {
  path: string;
  type: string;
  text: string;
}

/** The folder of the assets' addresses. */
export const ASSETS_PATH = '/console';

/**
 * Reads a file that the build copies to `dist`. Its address contains a digest of its text: a browser may cache it for
 * ever, because a newer version has another address.
 */
function readAsset(name: string, type: string): Asset {
  const text = readFileSync(packageFile('dist', name), 'utf8');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return { path: `${ASSETS_PATH}/${digest}/${name}`, type, text };
}

let known: { style: Asset; script: Asset } | null = null;

/** Returns the style sheet and the script of the pages. The files are read on first use only. */
export function consoleAssets(): { style: Asset; script: Asset } {
  known ??= {
    style: readAsset('console.css', 'text/css; charset=utf-8'),
    script: readAsset('console.js', 'text/javascript; charset=utf-8'),
  };
  return known;
}
