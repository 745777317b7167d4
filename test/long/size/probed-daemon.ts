import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CLI } from '../../support/daemon-process.ts';

const PROBE = fileURLToPath(new URL('loop-probe.mjs', import.meta.url));

/** What the main thread of a daemon did since the previous reading. */
export interface Reading {
  /** The longest time in which its event loop did not turn. */
  blockedMs: number;
  /** The longest processor time between two turns, which a busy machine does not lengthen. */
  workedMs: number;
  /** All processor time. */
  cpuMs: number;
  rssMb: number;
}

/** A daemon whose event loop is measured. */
export class ProbedDaemon {
  readonly url: string;
  readonly #child: ChildProcess;
  #probes = 0;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts the daemon of a folder; resolves once it serves pages. */
  static async start(folder: string): Promise<ProbedDaemon> {
    const child = fork(CLI, ['daemon'], {
      cwd: folder,
      execArgv: ['--import', PROBE],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let log = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the daemon ended: ${log}`)));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-10_000);
        const [, found] = /"url":"([^"]*)","msg":"serving/.exec(log) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    return new ProbedDaemon(child, url);
  }

  /** Returns the measurements since the previous call, and starts new ones. */
  async read(): Promise<Reading> {
    this.#probes += 1;
    const probe = this.#probes;
    this.#child.send({ probe });
    for (;;) {
      const [message] = await once(this.#child, 'message');
      if (message.probe === probe) return message;
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
  }
}
