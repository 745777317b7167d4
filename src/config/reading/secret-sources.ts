import type { ExecFileException } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { formatPath, type Path } from '../../core/text/path.ts';
import { readFaultText } from '../../core/text/words.ts';
import { secretRule } from '../rules.ts';

/** What is secret, or may be. For each such setting `NAME_file` or `NAME_command` may stand in its place. */
export const SECRETS: readonly string[] = [
  'secret_key',
  'access_key_id',
  'secret_access_key',
  'secret',
  'password',
  'routing_key',
  'token',
  'url',
  'redis_url',
];

/** The settings that stand in the place of a secret, by the end of their names. */
export const SOURCES = {
  file: 'Give the path of a readable file that holds nothing but the secret; relative to this file',
  command: 'List the program and its arguments, such as [vault, read, -field=key, secret/usage]',
} as const;
type Source = keyof typeof SOURCES;

/** Which secret a setting stands in for, and by what; null for any other. `http.token_file` is a file that the daemon makes. */
export function sourceOf(key: string, path: Path): { name: string; source: Source } | null {
  const [, name = '', source] = /^(.*)_(file|command)$/.exec(key) ?? [];
  if (!SECRETS.includes(name) || formatPath([...path, key]) === 'http.token_file') return null;
  return { name, source: source as Source };
}

export type FoundSecret = { text: string } | { mistake: string };

/** A command has this long: a start or a reload waits for it. */
const COMMAND_MS = 10_000;
const MOST_BYTES = 64 * 1024;

/** What a file holds, without the line break at its end. A fault quotes neither path nor content: people put the secret there by mistake. */
export function secretInFile(file: string): FoundSecret {
  try {
    return secretIn(readRegularFile(file), { holder: 'a file', empty: 'names an empty file' });
  } catch (error) {
    return { mistake: `names a file that cannot be read (${readFaultText(codeOf(error))})` };
  }
}

/** What a command prints, without the line break at its end. What it says of errors is kept to itself, as is what it printed. */
export async function secretOfCommand(command: unknown, cwd: string): Promise<FoundSecret> {
  if (!isCommand(command)) return { mistake: 'must be a list of texts: a program and its arguments' };
  const [program = '', ...args] = command;
  const { execFile } = await import('node:child_process');
  try {
    // One that hangs may not listen to a milder signal.
    const limits = { timeout: COMMAND_MS, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES } as const;
    const answer = promisify(execFile)(program, args, { cwd, ...limits });
    answer.child.stdin?.end();
    const { stdout } = await answer;
    return secretIn(stdout, { holder: 'a command', empty: 'names a command that prints nothing' });
  } catch (error) {
    return { mistake: `names a command that ${failureOf(error as ExecFileException)}` };
  }
}

function failureOf({ code, killed, signal }: ExecFileException): string {
  if (typeof code === 'string') return `cannot be run (${code})`;
  return killed === true ? `took longer than ${COMMAND_MS / 1000} s` : `ended with ${code ?? signal}`;
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

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'error';
}

/**
 * Reads a file of settings, without the mark that some editors put before UTF-8. A pipe or a device is refused like a file
 * that cannot be read: it could be waited for without an end.
 */
export function readRegularFile(file: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (!statSync(file).isFile()) throw Object.assign(new Error(`${file} is no file`), { code: 'it is no regular file' });
  return readFileSync(file, encoding).replace(/^\uFEFF/, '');
}
