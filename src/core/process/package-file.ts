import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** The folder of this package. The code that asks may lie in any file of it: the build puts modules together. */
export const PACKAGE_FOLDER = dirname(findPackageJSON(import.meta.url) as string);

/** The path of a file of this package that is no code. */
export function packageFile(...parts: string[]): string {
  return join(PACKAGE_FOLDER, ...parts);
}
