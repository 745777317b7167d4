import { resolve } from 'node:path';
import type { ConfigFault } from '../../core/errors.ts';
import { groupOf, listOf } from '../../core/text/path.ts';
import { secretRule } from '../rules.ts';
import type { ChannelConfig, Config } from '../types.ts';
import { readRegularFile } from './regular-file.ts';
import { remedyFor } from './remedies.ts';

/** Every secret value of a configuration, for the redactor; none is empty, none is there twice. */
export function secretsOf(config: Config): string[] {
  const secrets = [
    ...config.workspaces.map((workspace) => workspace.secretKey),
    ...config.alerts.channels.flatMap(channelSecrets),
    config.s3?.secretAccessKey ?? '',
    config.http.token ?? '',
    ...urlPasswords(config.redisUrl),
    ...urlPasswords(config.proxy?.url ?? null),
    ...urlPasswords(config.publish?.url ?? null),
  ];
  return [...new Set(secrets)].filter((secret) => secret !== '');
}

/** Shorter parts of an address, such as `true`, are no secrets, and blotting them out would spoil every line of the log. */
const SHORTEST_URL_SECRET = 8;

function channelSecrets(channel: ChannelConfig): string[] {
  switch (channel.type) {
    case 'log':
      return [];
    case 'webhook':
      // The prefix is only a mark: what follows it is the key itself.
      return [
        ...channel.secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, '')]),
        ...querySecrets(channel.url),
      ];
    case 'slack':
      // Whoever knows the path may post.
      return [...pathSecrets(channel.url), ...querySecrets(channel.url)];
    case 'email':
      return channel.login === null ? [] : [channel.login.password];
  }
}

function pathSecrets(url: string): string[] {
  const { pathname } = new URL(url);
  return [pathname, pathname.split('/').at(-1) ?? ''].filter((part) => part.length >= SHORTEST_URL_SECRET);
}

/** Each value as it stands in the address and as it is meant. */
function querySecrets(url: string): string[] {
  const { search, searchParams } = new URL(url);
  const pairs = search.slice(1).split('&');
  const written = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [...written, ...searchParams.values()].filter((value) => value.length >= SHORTEST_URL_SECRET);
}

function urlPasswords(address: string | null): string[] {
  if (address === null) return [];
  const url = new URL(address);
  return [url.password, decoded(url.password), url.searchParams.get('password') ?? ''];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The settings that name a file with a secret in it. */
const SECRET_FILES = ['secret_key_file', 'access_key_id_file', 'secret_access_key_file'];

/**
 * Reads every file of a document that holds a secret, without the line break at its end. Relative paths start at `folder`.
 * Neither the path nor the content appears in a fault: people put the secret itself there by mistake.
 */
export function readSecretFiles(
  document: unknown,
  folder: string,
): { secretFiles: Map<string, string>; faults: ConfigFault[] } {
  const root = groupOf(document);
  const groups: [path: string, group: unknown][] = [
    ['defaults', root.defaults],
    ['s3', root.s3],
  ];
  for (const [index, workspace] of listOf(root.workspaces).entries()) groups.push([`workspaces[${index}]`, workspace]);

  const secretFiles = new Map<string, string>();
  const faults: ConfigFault[] = [];
  const named = groups.flatMap(([groupPath, group]) =>
    SECRET_FILES.map((key) => ({ path: `${groupPath}.${key}`, file: groupOf(group)[key] })),
  );
  for (const { path, file } of named) {
    if (typeof file !== 'string' || file.trim() === '') continue;
    const found = readSecret(resolve(folder, file.trim()));
    if (found.mistake === undefined) secretFiles.set(path, found.secret);
    else faults.push({ path, message: found.mistake, hint: remedyFor(path) });
  }
  return { secretFiles, faults };
}

function readSecret(file: string): { secret: string; mistake?: never } | { mistake: string } {
  try {
    const secret = readRegularFile(file).replace(/[\r\n]+$/, '');
    if (secret === '') return { mistake: 'names an empty file' };
    const mistake = secretRule(secret);
    return mistake === null ? { secret } : { mistake: `names a file whose secret ${mistake}` };
  } catch (error) {
    return { mistake: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})` };
  }
}
