import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The folder of this package. It cannot be given relative to this file, because the build moves the code into a file in
 * another folder.
 */
export const PACKAGE_FOLDER = dirname(findPackageJSON(import.meta.url) as string);

export function packageFile(...parts: string[]): string {
  return join(PACKAGE_FOLDER, ...parts);
}

export function readVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
