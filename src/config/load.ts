import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { type RateCardText, rateCardsSchema } from '../billing/rates/rate-card-schema.ts';
import { ConfigError, type ConfigFault } from '../core/errors.ts';
import { asMapping } from '../core/text/path.ts';
import { readFaultText } from '../core/text/words.ts';
import { schemaFaults, tidyFaults } from './reading/faults.ts';
import { type EmptySetting, type Interpolated, interpolate, readFiles } from './reading/files.ts';
import { readRegularFile } from './reading/secret-sources.ts';
import { parseYaml } from './reading/yaml.ts';
import { readProxy, resolveConfig } from './resolve-config.ts';
import { fileSchema } from './schema/file-schema.ts';
import { READ_ONCE } from './schema/kinds.ts';
import type { Config } from './types.ts';

export const CONFIG_FILE_NAME = 'usage-ledger.yml';

export interface LoadOptions {
  file?: string | undefined;
  env: NodeJS.ProcessEnv;
  /** The folder in which to search for files, and the base of relative paths. */
  cwd: string;
}

/**
 * Finds and reads the configuration: `file`, else `usage-ledger.yml` in `cwd`, else `$USAGE_LEDGER_CONFIG`, else one
 * workspace from the environment alone. A `.env` in the same folder (or in `cwd`) adds variables but never overrides
 * existing ones. Throws ConfigError with all mistakes; its text contains no value of a setting.
 */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  requireVerifiedTls(options.env);
  const found = findFile(options);
  if (found !== null) return loadFile(found, options);

  const env = withDotEnv(options.cwd, options.env, null);
  const names = Object.values(ENVIRONMENT).filter((name) => name.startsWith('USAGE_API_'));
  if (names.every((name) => !env[name])) {
    const message = 'is not in this folder, and no USAGE_API_... variables are set';
    const hint = 'Change to the folder of the file, pass it with --config, or create a sample with `usage-ledger init`';
    throw new ConfigError(resolve(options.cwd), [{ path: CONFIG_FILE_NAME, message, hint }]);
  }
  const emptied = Object.entries(ENVIRONMENT).flatMap(([path, name]) => {
    return env[name]?.trim() === '' ? [{ path, names: [name] }] : [];
  });
  const source = { file: null, folder: resolve(options.cwd), faults: [], emptied, env };
  return build(documentFromEnvironment(env), source);
}

/**
 * Throws if NODE_TLS_REJECT_UNAUTHORIZED makes Node accept any certificate: somebody on the network path could then
 * read signatures and secrets.
 */
function requireVerifiedTls(env: NodeJS.ProcessEnv): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  const message = 'is 0, which switches the verification of all certificates off';
  const hint =
    'Remove it. For a server with a private certificate authority, set NODE_EXTRA_CA_CERTS to the path of its certificate';
  throw new ConfigError(null, [{ path: 'NODE_TLS_REJECT_UNAUTHORIZED', message, hint }]);
}

interface FoundConfig {
  file: string;
  namedBy: string;
}

function findFile({ file, env, cwd }: LoadOptions): FoundConfig | null {
  if (file !== undefined) return { file: resolve(cwd, file), namedBy: '--config' };
  const here = resolve(cwd, CONFIG_FILE_NAME);
  if (existsSync(here)) return { file: here, namedBy: CONFIG_FILE_NAME };
  const named = env.USAGE_LEDGER_CONFIG;
  return named ? { file: resolve(cwd, named), namedBy: 'USAGE_LEDGER_CONFIG' } : null;
}

function loadFile(found: FoundConfig, { env }: LoadOptions): Promise<Config> {
  const { file } = found;
  const { value, faults, emptied } = readFound(found, env);
  return build(value, { file, folder: dirname(file), faults, emptied, env });
}

function readFound({ file, namedBy }: FoundConfig, env: NodeJS.ProcessEnv): Interpolated {
  return readSettings(file, {
    namedBy,
    env,
    unreadable: 'Check the path and its permissions, or run `usage-ledger init` to write a sample',
    empty: 'Begin with the sample of `usage-ledger init`',
  });
}

/**
 * Returns the settings of a file that are empty because their environment variables are empty, including settings that
 * may be empty.
 */
export function emptiedSettings(file: string, env: NodeJS.ProcessEnv): readonly EmptySetting[] {
  return readFound({ file, namedBy: file }, env).emptied;
}

/**
 * Returns the settings of a YAML file with its variables expanded, including those of a `.env` in the same folder.
 * `namedBy` is the option or variable that gave the path; `unreadable` and `empty` are the remedies for a file that
 * cannot be read or has no settings.
 */
function readSettings(
  file: string,
  { namedBy, env, unreadable, empty }: { namedBy: string; env: NodeJS.ProcessEnv; unreadable: string; empty: string },
): Interpolated {
  const text = readConfigText(file, (code) => {
    const message =
      code === 'ENOENT'
        ? 'names a file that does not exist'
        : `names a file that cannot be read (${readFaultText(code)})`;
    return new ConfigError(file, [{ path: namedBy, message, hint: unreadable }]);
  });
  return interpolate(settingsIn(text, { file, empty }), withDotEnv(dirname(file), env, file));
}

/** Parses the text of a YAML file. `empty` is the remedy for a file without settings. */
function settingsIn(text: string, { file, empty }: { file: string; empty: string }): object {
  const parsed = parseYaml(text, basename(file));
  if (parsed.faults !== undefined) throw new ConfigError(file, parsed.faults);
  if (typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)) return parsed.value;
  throw new ConfigError(file, [{ path: basename(file), message: 'holds no settings', hint: empty }]);
}

async function build(
  document: unknown,
  source: { file: string | null; folder: string; env: NodeJS.ProcessEnv } & Omit<Interpolated, 'value'>,
): Promise<Config> {
  const { value, faults: fileFaults, unreadSecrets } = await readFiles(document, source.folder);
  const parsed = fileSchema.safeParse(value, READ_ONCE);
  const { proxy, faults: proxyFaults } = readProxy(asMapping(document).proxy, source.env);
  const faults = tidyFaults([
    ...source.faults,
    ...schemaFaults(parsed.error?.issues ?? [], value).filter(({ path }) => !unreadSecrets.includes(path)),
    ...fileFaults,
    ...proxyFaults,
  ]).map((fault) => namedByEmptyVariable(fault, source.emptied));
  if (parsed.success && faults.length === 0) {
    return resolveConfig(parsed.data, { file: source.file, folder: source.folder, proxy });
  }
  throw new ConfigError(source.file, source.file === null ? faults.map(namedByVariable) : faults);
}

/** Adds the name of the empty variable to a fault: a user knows the variable in `.env`, not the path of the setting. */
function namedByEmptyVariable(fault: ConfigFault, emptied: readonly EmptySetting[]): ConfigFault {
  const names = emptied.find(({ path }) => path === fault.path)?.names.join(' and ');
  if (names === undefined) return fault;
  const hint = `Give ${names} a value, in the environment or in the .env next to the file`;
  return { ...fault, message: `needs the variable ${names}, which is empty`, hint };
}

const ENVIRONMENT: Readonly<Record<string, string>> = {
  'workspaces[0].id': 'USAGE_API_WORKSPACE_ID',
  'workspaces[0].base_url': 'USAGE_API_BASE_URL',
  'workspaces[0].embed_url': 'USAGE_API_EMBED_URL',
  'workspaces[0].api_key_id': 'USAGE_API_KEY_ID',
  'workspaces[0].secret_key': 'USAGE_API_SECRET_KEY',
  'ledger.path': 'USAGE_LEDGER_PATH',
  redis_url: 'REDIS_URL',
};

function documentFromEnvironment(env: NodeJS.ProcessEnv): unknown {
  const value = (path: string) => env[ENVIRONMENT[path] ?? ''] || undefined;
  return {
    ledger: { path: value('ledger.path') },
    redis_url: value('redis_url'),
    workspaces: [
      {
        id: value('workspaces[0].id'),
        base_url: value('workspaces[0].base_url'),
        embed_url: value('workspaces[0].embed_url'),
        api_key_id: value('workspaces[0].api_key_id'),
        secret_key: value('workspaces[0].secret_key'),
      },
    ],
  };
}

function namedByVariable(fault: ConfigFault): ConfigFault {
  return { ...fault, path: ENVIRONMENT[fault.path] ?? fault.path };
}

function withDotEnv(folder: string, env: NodeJS.ProcessEnv, configFile: string | null): NodeJS.ProcessEnv {
  const file = join(folder, '.env');
  // A folder named `.env` belongs to another tool, such as a virtual environment of Python.
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false) return env;
  const text = readConfigText(file, (code) => {
    const message = `cannot be read (${readFaultText(code)})`;
    return new ConfigError(configFile, [{ path: file, message, hint: 'Make it readable for this user, or remove it' }]);
  });
  const given = parseEnv(text);
  const faults = cutValues(text, given).map((name) => ({
    path: `.env: ${name}`,
    message: 'has a # in a value without quotes, where it would begin a comment',
    hint: `Write ${name}="..." if the # belongs to the value, or put a blank before it`,
  }));
  if (faults.length > 0) throw new ConfigError(configFile, faults);
  const merged: NodeJS.ProcessEnv = { ...given };
  for (const [name, value] of Object.entries(env)) if (value !== undefined) merged[name] = value;
  return merged;
}

/**
 * Returns the variables whose value is cut off at a `#` without a space before it: Node and dotenv begin a comment
 * there.
 */
function cutValues(text: string, given: NodeJS.Dict<string>): string[] {
  const lines = text.matchAll(/^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*([^"'`\s#][^#\n]*\S|[^"'`\s#])#/gm);
  return [...lines].filter(([, name = '', value]) => given[name] === value).map(([, name = '']) => name);
}

function readConfigText(file: string, failed: (code: string) => ConfigError): string {
  try {
    return readRegularFile(file);
  } catch (error) {
    throw failed((error as NodeJS.ErrnoException).code ?? 'error');
  }
}

/**
 * Reads rate cards from a separate YAML file: lists below `rates:`, `costs:` or both, as in the configuration; a
 * missing list is null. Throws ConfigError with all faults.
 */
export function loadCards(file: string, env: NodeJS.ProcessEnv): Record<CardList, readonly RateCardText[] | null> {
  const settings = readSettings(file, {
    namedBy: file,
    env,
    unreadable: 'Check the path and its permissions',
    empty: EMPTY_CARDS_HINT,
  });
  return cardsIn(file, settings);
}

const EMPTY_CARDS_HINT = 'Write `rates:` with cards below it, as the sample of `usage-ledger init` shows them';

/**
 * Parses the text of an uploaded file with rate cards, as `loadCards` does. An environment variable in it counts as
 * unset: the person who uploads the file must not see the daemon's environment.
 */
export function parseCards(name: string, text: string): Record<CardList, readonly RateCardText[] | null> {
  return cardsIn(name, interpolate(settingsIn(text, { file: name, empty: EMPTY_CARDS_HINT }), {}));
}

function cardsIn(file: string, { value, faults }: Interpolated): Record<CardList, readonly RateCardText[] | null> {
  const { rates, costs, ...others } = value as Record<string, unknown>;
  const unexpected = Object.keys(others).map((path) => ({
    path,
    message: 'does not belong here',
    hint: 'Remove it: this file may contain only `rates:` and `costs:`',
  }));
  const cards = { rates: rates === undefined && costs !== undefined ? null : rates, costs: costs ?? null };
  const parsed = z.object({ rates: rateCardsSchema.nullable(), costs: rateCardsSchema.nullable() }).safeParse(cards);
  const all = tidyFaults([...faults, ...unexpected, ...schemaFaults(parsed.error?.issues ?? [], value)]);
  if (parsed.success && all.length === 0) return parsed.data;
  throw new ConfigError(file, all);
}

type CardList = 'rates' | 'costs';
