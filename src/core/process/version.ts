import { readFileSync } from 'node:fs';
import { packageFile } from './package-file.ts';

/** The version of this program, from its package.json. */
export function readVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
