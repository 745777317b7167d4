import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makePagesToken, readPagesToken } from '../../../src/daemon/http/pages-token.ts';
import { plainConfig } from '../../support/run/workspace-config.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('the first start creates a token that only its user can read, and later starts keep it', () => {
  const http = httpIn(temporaryFolder());
  const token = makePagesToken(http);
  expect(token).toMatch(/^[\w-]{32}$/);
  expect(statSync(http.tokenFile).mode & 0o777).toBe(0o600);
  expect(makePagesToken(http)).toBe(token);
  expect(readPagesToken(http)).toBe(token);
  expect(makePagesToken(httpIn(temporaryFolder()))).not.toBe(token);
});

test('a configured token takes precedence and creates no file', () => {
  const http = { ...httpIn(temporaryFolder()), token: 'given' };
  expect(makePagesToken(http)).toBe('given');
  expect(() => readFileSync(http.tokenFile)).toThrow('ENOENT');
});

test('a missing or empty token is reported with a remedy', () => {
  const http = httpIn(temporaryFolder());
  expect(() => readPagesToken(http)).toThrow(
    expect.objectContaining({ code: 'http_token', hint: 'start the daemon, which creates the file' }),
  );
  writeFileSync(http.tokenFile, '\n');
  expect(() => makePagesToken(http)).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/^remove the file/) }),
  );
});

function httpIn(folder: string) {
  return plainConfig(join(folder, 'ledger.db')).http;
}
