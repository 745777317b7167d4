import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { groupOf, listOf } from '../../core/text/path.ts';
import { readRegularFile } from './regular-file.ts';
import { remedyFor } from './remedies.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates (PEM) that each `ca_file` of a document holds, by the setting's path. Relative paths start at `folder`. */
export function readCaFiles(
  document: unknown,
  folder: string,
): { caFiles: Map<string, string>; faults: ConfigFault[] } {
  const root = groupOf(document);
  const groups: [path: string, group: unknown][] = [
    ['defaults', root.defaults],
    ['publish', root.publish],
    ['s3', root.s3],
    ...listOf(root.workspaces).map((group, index): [string, unknown] => [`workspaces[${index}]`, group]),
    ...listOf(groupOf(root.alerts).channels).map((group, index): [string, unknown] => [
      `alerts.channels[${index}]`,
      group,
    ]),
  ];
  const caFiles = new Map<string, string>();
  const faults: ConfigFault[] = [];
  for (const [groupPath, group] of groups) {
    const file = groupOf(group).ca_file;
    if (typeof file !== 'string' || file.trim() === '') continue;
    const path = `${groupPath}.ca_file`;
    const found = readCertificates(resolve(folder, file.trim()));
    if ('pem' in found) caFiles.set(path, found.pem);
    else faults.push({ path, message: found.mistake, hint: remedyFor(path) });
  }
  return { caFiles, faults };
}

function readCertificates(file: string): { pem: string } | { mistake: string } {
  let text: string;
  try {
    text = readRegularFile(file, 'latin1');
  } catch (error) {
    return { mistake: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})` };
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) return { mistake: 'names a file without a certificate in PEM' };
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch {
    return { mistake: 'names a file with a certificate that cannot be read' };
  }
  return { pem: certificates.join('\n') };
}
