import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';

/** The command as it is shipped; `build-dist.ts` keeps it up to date. */
export const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

export interface DaemonProcess {
  readonly child: ChildProcess;
  /** What it has logged so far. */
  readonly lines: LogLine[];
  /** The first line with this message; waits for it. */
  line(msg: string, deadlineMs?: number): Promise<LogLine>;
  /** Waits for the end; the exit code, or the signal that killed it. */
  exit(): Promise<number | string>;
}

/** `usage-ledger daemon` as a process of its own in `folder`, killed at the latest when the test has finished. */
export function startDaemonProcess(folder: string): DaemonProcess {
  return startCommand(folder, 'daemon');
}

/** Any command in the same way, its Node with more options and its environment with more variables. */
export function startCommand(
  folder: string,
  command: string,
  nodeOptions: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): DaemonProcess {
  const args = [...nodeOptions, CLI, command];
  const child = spawn(process.execPath, args, {
    ...{ cwd: folder, env: { ...process.env, ...env } },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: LogLine[] = [];
  let rest = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine));
  });
  // What it has said last comes after its exit.
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  });
  return {
    child,
    lines,
    async line(msg, deadlineMs = 60_000) {
      let found: LogLine | undefined;
      await eventually(() => {
        found = lines.find((line) => line.msg === msg);
        if (found === undefined) throw new Error(`no line ${JSON.stringify(msg)} in ${JSON.stringify(lines)}`);
      }, deadlineMs);
      return found as LogLine;
    },
    exit: () => exited,
  };
}
