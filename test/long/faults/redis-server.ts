import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A redis-server of the test's own that keeps what it has when it is killed. */
export interface MortalRedis {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function startMortalRedis(port: number): Promise<MortalRedis> {
  const dir = temporaryFolder();
  let child: ChildProcess | null = null;
  const redis: MortalRedis = {
    url: `redis://127.0.0.1:${port}/0`,
    async start() {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--save', ''];
      child = spawn('redis-server', args, { stdio: 'ignore' });
      await eventually(async () => {
        const connection = new Redis(port, '127.0.0.1', { retryStrategy: () => null, commandTimeout: 3_000 });
        connection.on('error', () => undefined);
        await connection.ping().finally(() => connection.disconnect());
      });
    },
    async kill() {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
  await redis.start();
  return redis;
}
