import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configCases, WORKSPACE } from './config-cases.ts';

const cases = configCases();
const { faultsOf, load } = cases;
const KEYLESS = WORKSPACE.replace(/^ *secret_key:.*\n/m, '');

/** A configuration whose secrets all come from elsewhere. */
function configuration(source: (name: string) => string): string {
  return `redis_url${source('redis')}
publish: { url${source('postgres')} }
s3: { region: auto, access_key_id${source('key')}, secret_access_key${source('key')} }
http: { token${source('token')} }
workspaces:${KEYLESS}    secret_key${source('key')}
alerts:
  channels:
    - { type: webhook, url${source('hook')}, secret${source('key')} }
    - { type: slack, url${source('hook')} }
    - { type: pagerduty, routing_key${source('key')} }
    - { type: email, host: smtp.example.com, from: a@example.com, to: [b@example.com], user: u, password${source('key')} }
    - { type: heartbeat, url${source('hook')} }
`;
}

const HELD: Record<string, string> = {
  redis: 'rediss://:pw@cache.example:6379',
  postgres: 'postgres://ledger:pw@db.example/finance',
  hook: 'https://example.com/hook',
  key: 'sk_from_elsewhere',
  token: 'a-token-of-24-characters',
};

test.each([
  // `http.token_file` is the file that the daemon makes, and reads.
  { from: 'a file', suffix: (name: string) => (name === 'token' ? `: ${HELD.token}` : `_file: ${name}.txt`) },
  { from: 'a command', suffix: (name: string) => `_command: [cat, ${name}.txt]` },
])('every secret may come from $from', async ({ suffix }) => {
  for (const [name, text] of Object.entries(HELD)) cases.write(`${name}.txt`, `${text}\n`);
  const literal = await load(configuration((name) => `: "${HELD[name]}"`));
  expect(await load(configuration(suffix))).toEqual(literal);
});

test('a command is asked once for all workspaces that name it, with its folder, and not through a shell', async () => {
  cases.write('ask.sh', '#!/bin/sh\necho asked >> asked.log\necho "sk_$1"\n');
  chmodSync(join(cases.cwd, 'ask.sh'), 0o700);
  const asking = `${KEYLESS}    secret_key_command: [./ask.sh, "$HOME"]\n`;
  const config = await load(`workspaces:${asking}${asking.replace('ws-1', 'ws-2')}`);
  expect(config.workspaces.map(({ keys }) => keys[0]?.secretKey)).toEqual(['sk_$HOME', 'sk_$HOME']);
  expect(readFileSync(join(cases.cwd, 'asked.log'), 'utf8')).toBe('asked\n');
});

test.each([
  ['[cat, gone.txt]', 'names a command that ended with 1'],
  ['[no-such-program-here]', 'names a command that cannot be run (ENOENT)'],
  ['["true"]', 'names a command that prints nothing'],
  // It reads its input, of which there is none.
  ['[cat]', 'names a command that prints nothing'],
  ['[sh, -c, "kill -9 $$"]', 'names a command that ended with SIGKILL'],
  ['[echo, " sk"]', 'names a command whose secret begins or ends with white space'],
  ['cat key', 'must be a list of texts: a program and its arguments'],
  ['[]', 'must be a list of texts: a program and its arguments'],
])('secret_key_command: %s is one fault, which shows neither command nor output', async (command, message) => {
  expect(await faultsOf(`workspaces:${KEYLESS}    secret_key_command: ${command}\n`)).toEqual([
    `workspaces[0].secret_key_command: ${message}`,
  ]);
});

test('two sources of one secret are a fault, and what is no secret has none', async () => {
  cases.write('key', 'sk');
  expect(await faultsOf(`workspaces:${WORKSPACE}    secret_key_command: [cat, key]\n`)).toEqual([
    'workspaces[0].secret_key_command: conflicts with secret_key: only one of the two may be set',
  ]);
  expect(await faultsOf(`workers_file: key\nworkspaces:${WORKSPACE}`)).toEqual(['workers_file: is not a setting']);
});
