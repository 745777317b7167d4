import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The options of Node that pm2 gives the daemon; what stands for a daemon runs with the same. */
export const NODE_ARGS = createRequire(import.meta.url)('../ecosystem.config.cjs').apps[0].node_args;

/** The processes of the bench. What is measured never runs in the bench's own process, and none outlives it. */
export class Children {
  #running = new Set();

  /** Starts a module of this folder; it is given `input` and answers over IPC. */
  fork(module, input, execArgv = []) {
    const file = fileURLToPath(new URL(module, import.meta.url));
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
    return this.#keep(fork(file, [JSON.stringify(input)], { stdio, execArgv }));
  }

  spawn(command, args, options) {
    return this.#keep(spawn(command, args, options));
  }

  /** Runs a module of this folder to its end, as a daemon runs, and gives its one message. */
  async ask(module, input) {
    const child = this.fork(module, input, NODE_ARGS);
    let answer = null;
    child.once('message', (message) => {
      answer = message;
    });
    const [code, signal] = await once(child, 'exit');
    if (answer === null || code !== 0) throw new Error(`${module} ended with ${signal ?? code} and no result`);
    return answer;
  }

  /** Runs a command to its end; throws with what it wrote to stderr when it failed. */
  async run(command, args, options = {}) {
    await this.#runToEnd(command, args, options, 'ignore');
  }

  /** Runs a command to its end and gives its milliseconds, and those of processor that it and its children took. */
  async time(command, args, options = {}) {
    const startedMs = performance.now();
    const script = '"$0" "$@" > /dev/null; code=$?; times; exit $code';
    const said = await this.#runToEnd('sh', ['-c', script, command, ...args], options, 'pipe');
    const ms = performance.now() - startedMs;
    return { ms, cpuMs: processorMs(said.split('\n')[1] ?? '') };
  }

  async #runToEnd(command, args, options, stdout) {
    const child = this.spawn(command, args, { ...options, stdio: ['ignore', stdout, 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream]?.on('data', (chunk) => {
        said[stream] = (said[stream] + chunk).slice(-2_000);
      });
    }
    const [code, signal] = await once(child, 'close');
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}: ${said.stderr}`);
    return said.stdout;
  }

  /** Ends whatever still runs. */
  async stopAll() {
    await Promise.all([...this.#running].map((child) => stopChild(child)));
  }

  #keep(child) {
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    child.once('error', () => this.#running.delete(child));
    return child;
  }
}

/** The sum of `0m1.250s 0m0.310s`, which is how a shell's `times` says user and system time. */
function processorMs(times) {
  const parts = [...times.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`not what a shell says of times: ${JSON.stringify(times)}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1_000, 0);
}

/** Ends one process, by force when it takes longer than five seconds. */
export async function stopChild(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await ended;
  clearTimeout(force);
}
