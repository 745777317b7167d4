import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OWN_BUILD = fileURLToPath(new URL('../dist/', import.meta.url));

/** A file of the build that is measured; null is the one beside this folder. */
export function buildFile(dist, path) {
  return join(dist === null ? OWN_BUILD : resolve(dist), path);
}

/** A module of the build that is measured. */
export function loadBuild(dist, path) {
  return import(pathToFileURL(buildFile(dist, path)).href);
}
