import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OWN_ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The program as it is shipped from the checkout that is measured; null is the one that this folder lies in. */
export function commandFile(root) {
  return join(root === null ? OWN_ROOT : resolve(root), 'dist', 'cli.js');
}

/** A module of the checkout that is measured. */
export function loadSource(root, path) {
  return import(pathToFileURL(join(root === null ? OWN_ROOT : resolve(root), 'src', path)).href);
}
