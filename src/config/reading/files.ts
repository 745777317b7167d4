import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { formatPath, type Path } from '../../core/text/path.ts';
import { readRegularFile } from './regular-file.ts';
import { isSetting, remedyFor } from './remedies.ts';
import { type FoundSecret, SOURCES, secretInFile, secretOfCommand, sourceOf } from './secret-sources.ts';

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
export function readFiles(document: unknown, folder: string): Files {
  const faults: ConfigFault[] = [];
  const unread: string[] = [];
  /** Each command is asked once, also where many workspaces name it. */
  const asked = new Map<string, FoundSecret>();
  const findSecret = (source: 'file' | 'command', given: unknown): FoundSecret => {
    if (source === 'file') {
      return typeof given === 'string' ? secretInFile(resolve(folder, given.trim())) : { mistake: 'must be text' };
    }
    const key = JSON.stringify(given);
    const found = asked.get(key) ?? secretOfCommand(given, folder);
    asked.set(key, found);
    return found;
  };
  const visit = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (value === null || typeof value !== 'object') return value;
    const group = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]));
    const pathOf = (key: string) => formatPath([...path, key]);
    for (const [key, given] of Object.entries(group)) {
      const taken = sourceOf(key, path);
      if (taken === null || !isSetting(pathOf(taken.name))) continue;
      const { name, source } = taken;
      delete group[key];
      if (given === null || given === undefined || given === '') continue;
      const found = findSecret(source, given);
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
  return { value: visit(document, []), faults, unread };
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
    return { mistake: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})` };
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
