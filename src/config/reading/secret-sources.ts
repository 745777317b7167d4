import type { ExecFileException } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { formatPath, type Path } from '../../core/text/path.ts';
import { readFaultText } from '../../core/text/words.ts';
import { secretRule } from '../rules.ts';

/** Settings that contain a secret, always or sometimes. Each can be replaced by `NAME_file` or `NAME_command`. */
export const SECRETS: readonly string[] = [
  'secret_key',
  'access_key_id',
  'secret_access_key',
  'client_secret',
  'secret',
  'password',
  'routing_key',
  'token',
  'url',
  'redis_url',
];

/** Remedies for `NAME_file` and `NAME_command`, the settings that replace a secret. */
export const SECRET_SOURCE_REMEDIES = {
  file: 'Give the path of a readable file that contains only the secret; relative paths start at the folder of this file',
  command: 'List the program and its arguments, such as [vault, read, -field=key, secret/usage]',
} as const;
type SecretSource = keyof typeof SECRET_SOURCE_REMEDIES;

/**
 * Returns the name of the secret that a setting such as `token_file` replaces, and its source; null for any other
 * setting. `http.token_file` is not such a setting: the daemon creates that file.
 */
export function secretSourceOf(key: string, path: Path): { name: string; source: SecretSource } | null {
  const [, name = '', source] = /^(.*)_(file|command)$/.exec(key) ?? [];
  if (!SECRETS.includes(name) || formatPath([...path, key]) === 'http.token_file') return null;
  return { name, source: source as SecretSource };
}

export type FoundSecret = { text: string } | { mistake: string };

/** A command may run this long. A start or a reload of the daemon waits for it. */
const COMMAND_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/**
 * Reads a secret from a file, without the final line break. A mistake contains neither path nor content: people
 * sometimes write the secret itself where the path belongs.
 */
export function secretInFile(file: string): FoundSecret {
  try {
    return secretIn(readRegularFile(file), { holder: 'a file', empty: 'names an empty file' });
  } catch (error) {
    return { mistake: `names a file that cannot be read (${readFaultText(errnoOf(error))})` };
  }
}

/**
 * Runs a command and returns its output without the final line break. A mistake contains neither its output nor its
 * error messages.
 */
export async function secretOfCommand(command: unknown, cwd: string): Promise<FoundSecret> {
  if (!isCommand(command)) return { mistake: 'must be a list of texts: a program and its arguments' };
  const [program = '', ...args] = command;
  const { execFile } = await import('node:child_process');
  try {
    // A hanging command may ignore a milder signal than SIGKILL.
    const limits = { timeout: COMMAND_TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES } as const;
    const answer = promisify(execFile)(program, args, { cwd, ...limits });
    answer.child.stdin?.end();
    const { stdout } = await answer;
    return secretIn(stdout, { holder: 'a command', empty: 'names a command that prints nothing' });
  } catch (error) {
    return { mistake: `names a command that ${describeFailure(error as ExecFileException)}` };
  }
}

function describeFailure({ code, killed, signal }: ExecFileException): string {
  if (typeof code === 'string') return `cannot be run (${code})`;
  return killed === true ? `took longer than ${COMMAND_TIMEOUT_MS / 1000} s` : `ended with ${code ?? signal}`;
}

function isCommand(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string') && value[0] !== '';
}

function secretIn(content: string, { holder, empty }: { holder: string; empty: string }): FoundSecret {
  const text = content.replace(/[\r\n]+$/, '');
  if (text === '') return { mistake: empty };
  const mistake = secretRule(text);
  return mistake === null ? { text } : { mistake: `names ${holder} whose secret ${mistake}` };
}

function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'error';
}

/**
 * Reads a regular file, without a UTF-8 byte order mark. Throws for pipes and devices, because reading them could block
 * forever.
 */
export function readRegularFile(file: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (!statSync(file).isFile())
    throw Object.assign(new Error(`${file} is not a regular file`), { code: 'it is not a regular file' });
  return readFileSync(file, encoding).replace(/^\uFEFF/, '');
}
