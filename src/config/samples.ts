import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { NO_RESTART_EXIT_CODES } from '../core/process/exit-codes.ts';
import { packageFile } from '../core/process/package-file.ts';
import { CONFIG_FILE_NAME } from './load.ts';
import { notes, workspaceSettings } from './schema/workspace-settings.ts';

/** The commented `usage-ledger.yml`. With the variables of `sampleEnv` set it loads without a fault. */
export function sampleConfig(): string {
  return sample('usage-ledger.yml').replace('{workspace_defaults}', workspaceDefaults());
}

export function sampleEnv(): string {
  return sample('env.example');
}

function sample(name: string): string {
  return readFileSync(packageFile('deploy', 'samples', name), 'utf8');
}

function workspaceDefaults(): string {
  const lines = Object.entries(workspaceSettings).flatMap(([key, schema]) => {
    if (!(schema instanceof z.ZodDefault)) return [];
    const text = String(schema.def.defaultValue);
    const line = `  ${key}: ${text.includes('*') ? `"${text}"` : text}`;
    const note = notes.get(schema)?.note ?? '';
    return [note === '' ? line : `${line.padEnd(39)}# ${note}`];
  });
  return lines.join('\n');
}

export interface Installation {
  folder: string;
  /** The folder of the package, which holds `dist` and its own `ecosystem.config.cjs`. */
  packageFolder: string;
  nodePath: string;
  user: { name: string; uid: number; gid: number };
}

/** For pm2: the settings of the package, so that an update brings its own, run in this folder. */
export function pm2File({ folder, packageFolder }: Installation): string {
  const source = JSON.stringify(fromFolder(folder, join(packageFolder, 'ecosystem.config.cjs')));
  return `// How pm2 runs the daemon: \`npx pm2 start ecosystem.config.cjs\`. Script, time-outs and the rest come with usage-ledger
// itself; what is added here counts before them.
const { apps } = require(${source});

module.exports = {
  apps: apps.map((app) => ({
    ...app,
    cwd: __dirname,
    // The daemon writes below this folder. pm2 must not restart it for that.
    watch: false,
    // name: 'usage-ledger',
    // env: { NODE_EXTRA_CA_CERTS: '/etc/ssl/our-ca.pem' },
  })),
};
`;
}

/** For systemd. Nothing but the folder can be written to by the daemon. */
export function systemdUnit({ folder, packageFolder, nodePath, user }: Installation): string {
  const values: Readonly<Record<string, string>> = {
    user: user.name,
    folder: escaped(folder),
    node: quoted(nodePath),
    cli: quoted(join(packageFolder, 'dist', 'cli.js')),
    config: quoted(join(folder, CONFIG_FILE_NAME)),
    exit_codes: NO_RESTART_EXIT_CODES.join(' '),
    writable: quoted(folder),
  };
  return sample('usage-ledger.service').replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/** For compose: the package's own file, run as this user. */
export function composeFile({ packageFolder, user }: Installation): string {
  return readFileSync(join(packageFolder, 'compose.yaml'), 'utf8').replace('1000:1000', `${user.uid}:${user.gid}`);
}

/** A path as `require` takes it: relative for what lies below the folder, so that both can be moved together. */
function fromFolder(folder: string, file: string): string {
  const path = relative(folder, file);
  return path.startsWith('..') || isAbsolute(path) ? file : `./${path}`;
}

/** systemd reads a percent sign as the begin of a specifier. */
function escaped(path: string): string {
  return path.replaceAll('%', '%%');
}

function quoted(path: string): string {
  const text = escaped(path);
  return /[\s"'\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text;
}

interface WrittenSamples {
  written: string[];
  kept: string[];
}

interface SampleChoice extends Installation {
  systemd: boolean;
  compose: boolean;
}

/**
 * Writes `usage-ledger.yml` (readable for the user alone, since a secret may be put into it), `.env.example` and what
 * the daemon is run by into an existing folder. A file that is there is never touched. Throws AppError
 * `sample_not_written` when the folder cannot be written to.
 */
export function writeSamples(choice: SampleChoice): WrittenSamples {
  const files = [
    { name: CONFIG_FILE_NAME, text: `${editorLine(choice)}${sampleConfig()}`, mode: 0o600 },
    { name: '.env.example', text: sampleEnv(), mode: 0o644 },
    { name: 'ecosystem.config.cjs', text: pm2File(choice), mode: 0o644 },
    ...(choice.systemd ? [{ name: 'usage-ledger.service', text: systemdUnit(choice), mode: 0o644 }] : []),
    ...(choice.compose ? [{ name: 'compose.yaml', text: composeFile(choice), mode: 0o644 }] : []),
  ];
  const result: WrittenSamples = { written: [], kept: [] };
  for (const { name, text, mode } of files) {
    const file = join(choice.folder, name);
    (createFile(file, text, mode) ? result.written : result.kept).push(file);
  }
  return result;
}

/** Editors that know YAML's language server complete and check the file by this line. */
function editorLine({ packageFolder }: Installation): string {
  return `# yaml-language-server: $schema=${join(packageFolder, 'schemas/config.json')}\n`;
}

/** False when the file exists. Half a file is removed again: it would be kept for ever otherwise. */
function createFile(file: string, text: string, mode: number): boolean {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'wx', mode);
    writeFileSync(handle, text);
    return true;
  } catch (error) {
    if (handle !== undefined) rmSync(file, { force: true });
    else if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new AppError('sample_not_written', `${file} cannot be written`, {
      hint: 'check that the folder exists, belongs to this user, is writable and has space left',
      cause: error,
    });
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
