import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { packageFile } from '../core/process/package-file.ts';
import { NO_RESTART_EXIT_CODES } from './exit-codes.ts';
import { CONFIG_FILE_NAME } from './load.ts';
import { sampleNotes, workspaceSettings } from './schema/workspace-settings.ts';

/** Returns the commented `usage-ledger.yml`. With the variables of `sampleEnv` it loads without a fault. */
export function sampleConfig(): string {
  return readSample('usage-ledger.yml').replace('{workspace_defaults}', workspaceDefaults());
}

export function sampleEnv(): string {
  return readSample('env.example');
}

function readSample(name: string): string {
  return readFileSync(packageFile('deploy', 'samples', name), 'utf8');
}

function workspaceDefaults(): string {
  const lines = Object.entries(workspaceSettings).flatMap(([key, schema]) => {
    if (!(schema instanceof z.ZodDefault)) return [];
    const text = String(schema.def.defaultValue);
    const line = `  ${key}: ${text.includes('*') ? `"${text}"` : text}`;
    const note = sampleNotes.get(schema)?.note ?? '';
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

/**
 * Returns the pm2 file of this folder. It loads the pm2 file of the package, so that an update of the package takes
 * effect.
 */
export function pm2File({ folder, packageFolder }: Installation): string {
  const source = JSON.stringify(fromFolder(folder, join(packageFolder, 'ecosystem.config.cjs')));
  return `// How pm2 runs the daemon: \`npx pm2 start ecosystem.config.cjs\`. Script, timeouts and other settings come from
// usage-ledger itself; settings added here take precedence.
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

/** Returns the systemd unit. The daemon can write only to the folder. */
export function systemdUnit({ folder, packageFolder, nodePath, user }: Installation): string {
  const values: Readonly<Record<string, string>> = {
    user: user.name,
    folder: escapeSpecifiers(folder),
    node: quotePath(nodePath),
    cli: quotePath(join(packageFolder, 'dist', 'cli.js')),
    config: quotePath(join(folder, CONFIG_FILE_NAME)),
    exit_codes: NO_RESTART_EXIT_CODES.join(' '),
    writable: quotePath(folder),
  };
  return readSample('usage-ledger.service').replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/** Returns the package's compose file, with this user as the user of the container. */
export function composeFile({ packageFolder, user }: Installation): string {
  return readFileSync(join(packageFolder, 'compose.yaml'), 'utf8').replace('1000:1000', `${user.uid}:${user.gid}`);
}

/** Returns a path for `require`. It is relative if the file is below the folder, so that both can be moved together. */
function fromFolder(folder: string, file: string): string {
  const path = relative(folder, file);
  return path.startsWith('..') || isAbsolute(path) ? file : `./${path}`;
}

/** Escapes percent signs, which begin a specifier in systemd. */
function escapeSpecifiers(path: string): string {
  return path.replaceAll('%', '%%');
}

function quotePath(path: string): string {
  const text = escapeSpecifiers(path);
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
 * Writes `usage-ledger.yml` (readable only by the user, because it may contain a secret), `.env.example` and the files
 * that run the daemon into an existing folder. Existing files are never changed. Throws AppError `sample_not_written`
 * if the folder is not writable.
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

/** Returns a line for the top of the YAML file. With it, editors complete and check the settings. */
function editorLine({ packageFolder }: Installation): string {
  return `# yaml-language-server: $schema=${join(packageFolder, 'schemas/config.json')}\n`;
}

/**
 * Creates a file; returns false if it exists. If writing fails, the incomplete file is removed: a later call would keep
 * it.
 */
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
