import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { formatPath, type Path } from '../../core/text/path.ts';
import { readFaultText } from '../../core/text/words.ts';
import { isSetting, settingRemedy } from './faults.ts';
import {
  type FoundSecret,
  readRegularFile,
  SECRET_SOURCE_REMEDIES,
  secretInFile,
  secretOfCommand,
  secretSourceOf,
} from './secret-sources.ts';

export interface Files {
  value: unknown;
  faults: ConfigFault[];
  /** Paths of secrets that could not be read. Further faults at these paths are not reported. */
  unreadSecrets: string[];
}

/**
 * Replaces references in a document by what they refer to: secrets in files or from commands, and the certificates of
 * `ca_file`. Relative paths start at `folder`.
 */
export async function readFiles(document: unknown, folder: string): Promise<Files> {
  const faults: ConfigFault[] = [];
  const unreadSecrets: string[] = [];
  /** The results by command: a command that many workspaces name runs only once. */
  const commandResults = new Map<string, FoundSecret>();
  const findSecret = async (source: 'file' | 'command', given: unknown): Promise<FoundSecret> => {
    if (source === 'file') {
      return typeof given === 'string' ? secretInFile(resolve(folder, given.trim())) : { mistake: 'must be text' };
    }
    const key = JSON.stringify(given);
    const found = commandResults.get(key) ?? (await secretOfCommand(given, folder));
    commandResults.set(key, found);
    return found;
  };
  const visit = async (value: unknown, path: Path): Promise<unknown> => {
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [index, item] of value.entries()) items.push(await visit(item, [...path, index]));
      return items;
    }
    const entries: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(value)) entries.push([key, await visit(inner, [...path, key])]);
    const group = Object.fromEntries(entries);
    const pathOf = (key: string) => formatPath([...path, key]);
    for (const [key, given] of Object.entries(group)) {
      const taken = secretSourceOf(key, path);
      if (taken === null || !isSetting(pathOf(taken.name))) continue;
      const { name, source } = taken;
      delete group[key];
      if (given === null || given === undefined || given === '') continue;
      const found = await findSecret(source, given);
      if (group[name] !== undefined) {
        const message = `conflicts with ${name}: only one of the two may be set`;
        faults.push({ path: pathOf(key), message, hint: 'Keep one of the two' });
      } else if ('text' in found) group[name] = found.text;
      else {
        faults.push({ path: pathOf(key), message: found.mistake, hint: SECRET_SOURCE_REMEDIES[source] });
        unreadSecrets.push(pathOf(name));
      }
    }
    if (typeof group.ca_file === 'string' && group.ca_file.trim() !== '' && isSetting(pathOf('ca_file'))) {
      const found = readCertificates(resolve(folder, group.ca_file.trim()));
      if ('text' in found) group.ca_file = found.text;
      else faults.push({ path: pathOf('ca_file'), message: found.mistake, hint: settingRemedy(pathOf('ca_file')) });
    }
    return group;
  };
  return { value: await visit(document, []), faults, unreadSecrets };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns all PEM certificates of a file, joined. */
function readCertificates(file: string): FoundSecret {
  try {
    const certificates = readRegularFile(file, 'latin1').match(CERTIFICATE) ?? [];
    if (certificates.length === 0) return { mistake: 'names a file without a certificate in PEM' };
    return areCertificates(certificates)
      ? { text: certificates.join('\n') }
      : { mistake: 'names a file with a certificate that cannot be read' };
  } catch (error) {
    return { mistake: `names a file that cannot be read (${readFaultText((error as NodeJS.ErrnoException).code)})` };
  }
}

function areCertificates(certificates: readonly string[]): boolean {
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
    return true;
  } catch {
    return false;
  }
}

/**
 * Takes the place of a text whose variable is not set. It is not a text, so the schema rejects it at its path, where
 * the missing variable has already been reported. It is not undefined, so the setting is not reported as missing.
 */
const UNRESOLVED = Symbol('unresolved');

export interface Interpolated {
  value: unknown;
  faults: ConfigFault[];
  /** Settings that are empty because their environment variables are empty. */
  emptied: EmptySetting[];
}

export interface EmptySetting {
  path: string;
  names: readonly string[];
}

/**
 * Expands environment variables in every string of a parsed document, never in the text of the file, so a variable
 * cannot add settings. `${NAME}` must be set; `${NAME:-default}` uses the default if it is unset or empty; `$${` is a
 * literal `${`. Values of variables are not expanded again.
 */
export function interpolate(document: unknown, env: NodeJS.ProcessEnv): Interpolated {
  const faults: ConfigFault[] = [];
  const emptied: EmptySetting[] = [];
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const { text, mistakes, emptyNames } = expand(value, env);
      if (text.trim() === '' && emptyNames.length > 0) emptied.push({ path: formatPath(path), names: emptyNames });
      if (mistakes.length === 0) return text;
      faults.push({ path: formatPath(path), ...combine(mistakes) });
      return UNRESOLVED;
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (value !== null && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]));
    }
    return value;
  };
  return { value: visit(document, []), faults, emptied };
}

interface Mistake {
  message: string;
  hint: string;
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;

function expand(template: string, env: NodeJS.ProcessEnv): { text: string; mistakes: Mistake[]; emptyNames: string[] } {
  const mistakes: Mistake[] = [];
  const emptyNames: string[] = [];
  const text = template.replace(REFERENCE, (reference: string, body: string | undefined) => {
    if (reference === '$${') return '${';
    const [, name, fallback] = BODY.exec(body ?? '') ?? [];
    // The text is not repeated: it may be part of a secret that merely looks like a reference.
    if (name === undefined || fallback?.includes('${')) {
      const hint = `Write \${NAME} or \${NAME:-default}, never one inside another; $\${ stands for a literal \${`;
      mistakes.push({ message: 'has a ${ that does not begin a reference to a variable', hint });
      return '';
    }
    const value = env[name];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value?.trim() === '') emptyNames.push(name);
    if (value !== undefined) return value;
    const hint = `Set ${name} in the environment or in the .env next to the file, or write \${${name}:-default}`;
    mistakes.push({ message: `needs the variable ${name}, which is not set`, hint });
    return '';
  });
  return { text, mistakes, emptyNames };
}

function combine(mistakes: readonly Mistake[]): Mistake {
  const distinct = (words: string[]) => [...new Set(words)].join('; ');
  return { message: distinct(mistakes.map((it) => it.message)), hint: distinct(mistakes.map((it) => it.hint)) };
}
