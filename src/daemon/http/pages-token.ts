import { readFileSync, writeFileSync } from 'node:fs';
import type { Config } from '../../config/types.ts';
import { AppError, messageOf } from '../../core/errors.ts';
import { systemRandomness } from '../../core/randomness.ts';

const TOKEN_BYTES = 24;

/**
 * Returns the token that protects the pages: the configured token, or else the token in a file. The first start creates
 * this file, and only the daemon's user can read it. Throws `http_token` if the file cannot be created or read.
 */
export function makePagesToken(http: Config['http']): string {
  if (http.token === null) {
    try {
      writeFileSync(http.tokenFile, `${systemRandomness.bytes(TOKEN_BYTES).toString('base64url')}\n`, {
        flag: 'wx',
        mode: 0o600,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(http.tokenFile, error);
    }
  }
  return readPagesToken(http);
}

/** Reads the current token without creating one. Throws `http_token` if there is no token. */
export function readPagesToken({ token, tokenFile }: Config['http']): string {
  if (token !== null) return token;
  try {
    const text = readFileSync(tokenFile, 'utf8').trim();
    if (text !== '') return text;
  } catch (error) {
    throw unusable(tokenFile, error);
  }
  throw new AppError('http_token', `the token file ${tokenFile} is empty`, {
    hint: 'remove the file and restart the daemon, which creates a new one',
  });
}

function unusable(file: string, error: unknown): AppError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const message = isMissing ? `${file} does not exist yet` : messageOf(error);
  return new AppError('http_token', `cannot read the token for the pages: ${message}`, {
    hint: isMissing ? 'start the daemon, which creates the file' : `give this user write and read access to ${file}`,
    cause: error,
  });
}
