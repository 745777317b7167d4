import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The commands of the first shell block below a heading of a document of the project, without their comments. */
export function commandsBelow(document: string, heading: string): string[] {
  const text = readFileSync(new URL(`../../${document}`, import.meta.url), 'utf8');
  const [, below = ''] = text.split(`## ${heading}\n`);
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(below) ?? [];
  const commands = block
    .split('\n')
    .map((line) => line.replace(/ +# .*$/, ''))
    .filter((line) => line !== '');
  if (commands.length === 0) throw new Error(`${document} has no shell block below ${heading}`);
  return commands;
}

export interface FirstDay {
  /** An empty one; what is made lies in `usage-ledger` of it. */
  parent: string;
  /** Takes the package's place, as the document says. */
  tarball: string;
  serviceUrl: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Does what an operator does who follows the document word by word: runs each command as it stands there, and fills in what it
 * says is to be filled in. Gives what each command has shown.
 */
export async function liveFirstDay(day: FirstDay): Promise<Map<string, string>> {
  const { parent, tarball, serviceUrl, env } = day;
  const folder = join(parent, 'usage-ledger');
  const said = new Map<string, string>();
  for (const command of commandsBelow('docs/operate.md', 'The first day')) {
    const line = command.replace(/^npm install usage-ledger /, `npm install ${tarball} `);
    const { stdout, stderr } = await run('bash', ['-c', asHere(line)], { cwd: said.size === 0 ? parent : folder, env });
    said.set(command, `${stdout}${stderr}`);
    if (command.includes('usage-ledger init')) fillInSettings(folder, serviceUrl);
    if (command.includes('.env')) fillInSecrets(folder);
  }
  return said;
}

/** Everything but what changes the machine: a start with it is set up by root. */
function asHere(command: string): string {
  return command.replace(' && npx pm2 startup', '');
}

function fillInSettings(folder: string, serviceUrl: string): void {
  const file = join(folder, 'usage-ledger.yml');
  const sample = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    sample.replace(/(base_url|embed_url): https:.*/g, `$1: ${serviceUrl}`).replace('port: 9464 ', 'port: 0 '),
  );
}

function fillInSecrets(folder: string): void {
  const file = join(folder, '.env');
  const given = { WORKSPACE_ID: 'ws-sandbox', KEY_ID: 'ak_sandbox', SECRET_KEY: 'sk_sandbox_not_a_secret' };
  let text = readFileSync(file, 'utf8');
  for (const [name, value] of Object.entries(given))
    text = text.replace(`USAGE_API_${name}=\n`, `USAGE_API_${name}=${value}\n`);
  writeFileSync(file, text);
}
