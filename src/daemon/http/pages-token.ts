import { readFileSync, writeFileSync } from 'node:fs';
import type { Config } from '../../config/types.ts';
import { AppError, messageOf } from '../../core/errors.ts';
import { systemRandomness } from '../../core/randomness.ts';

const BYTES = 24;

/**
 * What the pages ask for: the token of the configuration, else that of a file which only the daemon's user can read.
 * The first start makes it. Raises `http_token` where the file cannot be made or read.
 */
export function makePagesToken(http: Config['http']): string {
  if (http.token === null) {
    try {
      writeFileSync(http.tokenFile, `${systemRandomness.bytes(BYTES).toString('base64url')}\n`, {
        flag: 'wx',
        mode: 0o600,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(http.tokenFile, error);
    }
  }
  return readPagesToken(http);
}

/** The token as it is now. Raises `http_token` where there is none. */
export function readPagesToken({ token, tokenFile }: Config['http']): string {
  if (token !== null) return token;
  try {
    const text = readFileSync(tokenFile, 'utf8').trim();
    if (text !== '') return text;
  } catch (error) {
    throw unusable(tokenFile, error);
  }
  throw new AppError('http_token', `${tokenFile} holds no token`, {
    hint: 'remove it: the daemon makes a new one when it starts',
  });
}

function unusable(file: string, error: unknown): AppError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const message = isMissing ? `there is no ${file} yet` : messageOf(error);
  return new AppError('http_token', `the token of the pages cannot be had: ${message}`, {
    hint: isMissing ? 'start the daemon: it makes the file' : `see whether this user can write and read ${file}`,
    cause: error,
  });
}
