import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { formatPath, type Path } from '../../core/text/path.ts';
import { secretRule } from '../rules.ts';
import { readRegularFile } from './regular-file.ts';
import { isSetting, remedyFor } from './remedies.ts';

/** What `..._file` may hold in place of the setting. */
const SECRETS = ['secret_key', 'access_key_id', 'secret_access_key'];

/** Stands for the secret of a file that gives none, so that it is not called missing as well. */
const UNREAD = 'unread';

/**
 * Reads the files that a document names: for `secret_key_file` it gets the `secret_key`, and `ca_file` the certificates
 * themselves. Relative paths start at `folder`. Neither the path nor the content appears in a fault: people put the secret
 * itself there by mistake.
 */
export function readFiles(document: unknown, folder: string): { value: unknown; faults: ConfigFault[] } {
  const faults: ConfigFault[] = [];
  const read = (path: string, file: unknown, reader: (file: string) => Found): string | undefined => {
    if (typeof file !== 'string' || file.trim() === '') return undefined;
    const found = reader(resolve(folder, file.trim()));
    if ('text' in found) return found.text;
    faults.push({ path, message: found.mistake, hint: remedyFor(path) });
    return undefined;
  };
  const visit = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (value === null || typeof value !== 'object') return value;
    const group = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]));
    const pathOf = (key: string) => formatPath([...path, key]);
    const given = (key: string) => group[key] !== undefined && isSetting(pathOf(key));
    for (const key of SECRETS.filter((key) => given(`${key}_file`))) {
      const filePath = pathOf(`${key}_file`);
      if (group[key] === undefined) group[key] = read(filePath, group[`${key}_file`], readSecret) ?? UNREAD;
      else {
        const message = `stands beside ${key}, and it is unclear which of the two counts`;
        faults.push({ path: filePath, message, hint: 'Keep one of the two' });
      }
    }
    if (given('ca_file')) group.ca_file = read(pathOf('ca_file'), group.ca_file, readCertificates) ?? group.ca_file;
    return group;
  };
  return { value: visit(document, []), faults };
}

type Found = { text: string } | { mistake: string };

/** Without the line break at its end. */
function readSecret(file: string): Found {
  return readFound(file, 'utf8', (content) => {
    const text = content.replace(/[\r\n]+$/, '');
    if (text === '') return { mistake: 'names an empty file' };
    const mistake = secretRule(text);
    return mistake === null ? { text } : { mistake: `names a file whose secret ${mistake}` };
  });
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All that is PEM in it. */
function readCertificates(file: string): Found {
  return readFound(file, 'latin1', (content) => {
    const certificates = content.match(CERTIFICATE) ?? [];
    if (certificates.length === 0) return { mistake: 'names a file without a certificate in PEM' };
    try {
      for (const certificate of certificates) new X509Certificate(certificate);
    } catch {
      return { mistake: 'names a file with a certificate that cannot be read' };
    }
    return { text: certificates.join('\n') };
  });
}

function readFound(file: string, encoding: 'utf8' | 'latin1', find: (content: string) => Found): Found {
  try {
    return find(readRegularFile(file, encoding));
  } catch (error) {
    return { mistake: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})` };
  }
}
