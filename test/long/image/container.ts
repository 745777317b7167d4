import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { LogLine } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import type { ImageSettings } from './images.ts';

export interface ContainerOptions {
  /** The files of the image. */
  root: string;
  settings: ImageSettings;
  /** Becomes /data. */
  volume: string;
  /** What to run in place of the image's own command. */
  args?: readonly string[];
  entrypoint?: readonly string[];
  /** Whether its root may be written to, as engines have it unless told otherwise. */
  writable?: boolean;
}

export interface Container {
  /** Everything that it has said. */
  readonly output: () => string;
  line(msg: string, deadlineMs?: number): Promise<LogLine>;
  /** To its first process, as an engine does it. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  exit(): Promise<number>;
}

/** Process 1 of namespaces of its own, in a root that can only be read, with no capability, in this machine's network. */
const START = `set -e
mount --bind "$ROOT" "$ROOT"
[ -n "$WRITABLE" ] || mount -o remount,bind,ro "$ROOT"
mount --bind "$VOLUME" "$ROOT/data"
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
exec chroot "$ROOT" /usr/bin/setpriv --reuid "\${USER_ID%:*}" --regid "\${USER_ID#*:}" --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all env -i -C "$WORKDIR" "$@"`;

/** Runs an image as an engine with \`--read-only --cap-drop ALL --network host --volume VOLUME:/data\` would. */
export function startContainer(options: ContainerOptions): Container {
  const { root, settings, volume } = options;
  const { Entrypoint, Cmd, Env, User, WorkingDir } = settings;
  const command = ['HOME=/data', ...Env, ...(options.entrypoint ?? Entrypoint), ...(options.args ?? Cmd)];
  const namespaces = ['--mount', '--pid', '--fork'];
  const child = spawn('unshare', [...namespaces, 'sh', '-c', START, 'start', ...command], {
    env: {
      PATH: process.env.PATH,
      ROOT: root,
      VOLUME: volume,
      USER_ID: User,
      WORKDIR: WorkingDir,
      WRITABLE: options.writable ? 'yes' : '',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close').then(([code]) => (code ?? 137) as number);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  onTestFinished(async () => {
    // Its end would not end the first process, which has another user since.
    if (child.exitCode === null && child.signalCode === null) process.kill(await firstProcess(child), 'SIGKILL');
    await exited;
  });
  const said = (msg: string): LogLine | undefined =>
    output
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as LogLine)
      .find((line) => line.msg === msg);
  return {
    output: () => output,
    async line(msg, deadlineMs = 90_000) {
      await eventually(() => {
        if (said(msg) === undefined) throw new Error(`no line ${JSON.stringify(msg)} in\n${output}`);
      }, deadlineMs);
      return said(msg) as LogLine;
    },
    async signal(signal) {
      process.kill(await firstProcess(child), signal);
    },
    exit: () => exited,
  };
}

async function firstProcess({ pid }: ChildProcess): Promise<number> {
  let first = 0;
  await eventually(() => {
    first = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
    if (first === 0) throw new Error('the container has no process yet');
  });
  return first;
}
