import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { formatPath, type Path } from '../../core/text/path.ts';
import { readFaultText } from '../../core/text/words.ts';
import { isSetting, remedyFor } from './faults.ts';
import {
  type FoundSecret,
  readRegularFile,
  SOURCES,
  secretInFile,
  secretOfCommand,
  sourceOf,
} from './secret-sources.ts';

export interface Files {
  value: unknown;
  faults: ConfigFault[];
  /** The paths of the secrets that could not be had: nothing else is to be said of them. */
  unread: string[];
}

/**
 * Puts into a document what it says to take from elsewhere: secrets from files and commands, and for `ca_file` the
 * certificates themselves. Relative paths start at `folder`.
 */
export async function readFiles(document: unknown, folder: string): Promise<Files> {
  const faults: ConfigFault[] = [];
  const unread: string[] = [];
  /** Each command is asked once, also where many workspaces name it. */
  const asked = new Map<string, FoundSecret>();
  const findSecret = async (source: 'file' | 'command', given: unknown): Promise<FoundSecret> => {
    if (source === 'file') {
      return typeof given === 'string' ? secretInFile(resolve(folder, given.trim())) : { mistake: 'must be text' };
    }
    const key = JSON.stringify(given);
    const found = asked.get(key) ?? (await secretOfCommand(given, folder));
    asked.set(key, found);
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
      const taken = sourceOf(key, path);
      if (taken === null || !isSetting(pathOf(taken.name))) continue;
      const { name, source } = taken;
      delete group[key];
      if (given === null || given === undefined || given === '') continue;
      const found = await findSecret(source, given);
      if (group[name] !== undefined) {
        const message = `stands beside ${name}, and it is unclear which of the two counts`;
        faults.push({ path: pathOf(key), message, hint: 'Keep one of the two' });
      } else if ('text' in found) group[name] = found.text;
      else {
        faults.push({ path: pathOf(key), message: found.mistake, hint: SOURCES[source] });
        unread.push(pathOf(name));
      }
    }
    if (typeof group.ca_file === 'string' && group.ca_file.trim() !== '' && isSetting(pathOf('ca_file'))) {
      const found = readCertificates(resolve(folder, group.ca_file.trim()));
      if ('text' in found) group.ca_file = found.text;
      else faults.push({ path: pathOf('ca_file'), message: found.mistake, hint: remedyFor(pathOf('ca_file')) });
    }
    return group;
  };
  return { value: await visit(document, []), faults, unread };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All that is PEM in it. */
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
 * Stands where a variable could not be put in. It is no text, so the schema refuses it, at the path that already has a
 * fault; and it is not absent, so the setting is not called missing as well.
 */
const UNRESOLVED = Symbol('unresolved');

export interface Interpolated {
  value: unknown;
  faults: ConfigFault[];
  /** Settings that are empty, because the variables that they consist of are. */
  emptied: EmptiedSetting[];
}

export interface EmptiedSetting {
  path: string;
  names: readonly string[];
}

/**
 * Puts environment variables into every string of a parsed document. It works on values, never on the text of the
 * file, so a variable cannot add settings. `${NAME}` must be set; `${NAME:-default}` falls back when it is unset or
 * empty; `$${` is a literal `${`. What a variable holds is not read for variables again.
 */
export function interpolate(document: unknown, env: NodeJS.ProcessEnv): Interpolated {
  const faults: ConfigFault[] = [];
  const emptied: EmptiedSetting[] = [];
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
      mistakes.push({ message: 'has a ${ that is no reference to a variable', hint });
      return '';
    }
    const value = env[name];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value?.trim() === '') emptyNames.push(name);
    if (value !== undefined) return value;
    const hint = `Set ${name} in the environment or in the .env beside the file, or write \${${name}:-default}`;
    mistakes.push({ message: `needs the variable ${name}, which is not set`, hint });
    return '';
  });
  return { text, mistakes, emptyNames };
}

function combine(mistakes: readonly Mistake[]): Mistake {
  const distinct = (words: string[]) => [...new Set(words)].join('; ');
  return { message: distinct(mistakes.map((it) => it.message)), hint: distinct(mistakes.map((it) => it.hint)) };
}
