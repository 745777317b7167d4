import { readFileSync, statSync } from 'node:fs';

/** Reads a file of settings. A pipe or a device is refused like a file that cannot be read: it could be waited for without an end. */
export function readRegularFile(file: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (!statSync(file).isFile()) throw Object.assign(new Error(`${file} is no file`), { code: 'it is no regular file' });
  return readFileSync(file, encoding);
}
