import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { namedSecrets } from '../../src/config/reading/secrets.ts';
import { ConfigError } from '../../src/core/errors.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const LONG = 'a-token-of-24-characters';

function load(tokens: string, env: NodeJS.ProcessEnv = {}) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'from-file'), `${LONG}-file\n`);
  chmodSync(join(cwd, 'from-file'), 0o600);
  const workspace =
    '[{id: w, base_url: "https://a.example.com", embed_url: "https://b.example.com", api_key_id: a, secret_key: s}]';
  writeFileSync(join(cwd, 'usage-ledger.yml'), `workspaces: ${workspace}\nhttp:\n  tokens:\n${tokens}`, {
    mode: 0o600,
  });
  return loadConfig({ env, cwd });
}

test('an API token is a text, a variable, the content of a file or the output of a command', async () => {
  const config = await load(
    `    - {name: a, role: read, token: ${LONG}-text}
    - {name: b, role: operate, token: "\${API_TOKEN}"}
    - {name: c, role: finance, token_file: from-file}
    - {name: d, role: read, token_command: [echo, ${LONG}-command]}
`,
    { API_TOKEN: `${LONG}-variable`, PATH: process.env.PATH },
  );
  expect(config.http.tokens).toEqual([
    { name: 'a', role: 'read', token: `${LONG}-text` },
    { name: 'b', role: 'operate', token: `${LONG}-variable` },
    { name: 'c', role: 'finance', token: `${LONG}-file` },
    { name: 'd', role: 'read', token: `${LONG}-command` },
  ]);
  const secrets = namedSecrets(config).map(({ value }) => value);
  expect(secrets).toEqual(expect.arrayContaining(config.http.tokens.map(({ token }) => token)));
});

test.each([
  ['a short one', `{name: a, role: read, token: short}`, 'http.tokens[0].token', 'is shorter than 24 characters'],
  ['one without a role', `{name: a, token: ${LONG}}`, 'http.tokens[0].role', 'is missing'],
  ['an unknown role', `{name: a, role: admin, token: ${LONG}}`, 'http.tokens[0].role', ''],
  ['a name with spaces', `{name: a b, role: read, token: ${LONG}}`, 'http.tokens[0].name', 'has other characters'],
])('%s is a mistake at its place', async (_, token, path, message) => {
  const error = await rejection(load(`    - ${token}\n`));
  expect(error).toBeInstanceOf(ConfigError);
  const faults = (error as ConfigError).faults;
  expect(faults.map((fault) => fault.path)).toEqual([path]);
  expect(faults[0]?.message).toContain(message);
});

test('two tokens have different names and different secrets', async () => {
  const same = `    - {name: a, role: read, token: ${LONG}}\n`;
  const error = (await rejection(load(same + same))) as ConfigError;
  expect(error.faults.map(({ path }) => path)).toEqual(['http.tokens[1].name', 'http.tokens[1].token']);
});
