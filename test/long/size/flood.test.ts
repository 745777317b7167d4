import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { CallerOrder } from './caller-process.ts';
import { median, printProgress, startLargeDaemon, TOKEN } from './large-daemon.ts';
import { MANY_RECORDS, MAX_SLOWDOWN } from './sizes.ts';

const CALLER = fileURLToPath(new URL('caller-process.ts', import.meta.url));
const KINDS: readonly CallerOrder['kind'][] = ['flood', 'sendSlowly', 'sendHuge'];
const ROUNDS = 9;
/** A caller has started, and disturbs, after this time. */
const STARTING_MS = 1_000;

test('callers who flood, send slowly or send 100 MB do not slow a sync down', async () => {
  const { daemon, sync } = await startLargeDaemon({ ...MANY_RECORDS, workspaces: 1, jumps: 0 });
  const slowdowns: { kind: string; slowdown: number }[] = [];
  for (const kind of KINDS) {
    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      alone.push(await sync());
      const leave = await startCaller({ kind, url: daemon.url, token: TOKEN });
      beside.push(await sync());
      await leave();
    }
    const slowdown = median(beside) / median(alone);
    slowdowns.push({ kind, slowdown });
    printProgress(`${kind}: ${slowdown.toFixed(2)}, alone ${alone.join(' ')} ms, beside ${beside.join(' ')} ms`);
  }
  expect(slowdowns.filter(({ slowdown }) => slowdown > MAX_SLOWDOWN)).toEqual([]);
});

/** Starts a caller in a process of its own, because sending takes time from the service that the sync reads. */
async function startCaller(order: CallerOrder): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, [CALLER, JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'inherit'] });
  await sleep(STARTING_MS);
  if (child.exitCode !== null) throw new Error(`the caller ${order.kind} ended`);
  return async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
}
