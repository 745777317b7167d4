import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A redis-server of the test's own, which can fail in each way that a real one does. */
export interface FailingRedis {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** One command, on a connection of the test's own. */
  ask(command: string, ...args: string[]): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startFailingRedis(port: number): Promise<FailingRedis> {
  const dir = temporaryFolder();
  let child: ChildProcess | null = null;
  const ask = async (command: string, ...args: string[]): Promise<unknown> => {
    const connection = new Redis(port, '127.0.0.1', { retryStrategy: () => null, commandTimeout: 3_000 });
    connection.on('error', () => undefined);
    try {
      return await connection.call(command, ...args);
    } finally {
      connection.disconnect();
    }
  };
  const redis: FailingRedis = {
    url: `redis://127.0.0.1:${port}/0`,
    async start() {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--save', ''];
      child = spawn('redis-server', args, { stdio: 'ignore' });
      await eventually(async () => {
        if ((await ask('PING')) !== 'PONG') throw new Error('it does not answer');
      });
    },
    async kill() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    ask,
    stop: () => redis.kill(),
  };
  await redis.start();
  return redis;
}
