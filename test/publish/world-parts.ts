import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { createLogger } from '../../src/core/logger.ts';
import { openBullmqQueue } from '../../src/queue/bullmq-queue.ts';
import { eventually } from '../support/eventually.ts';

const TICK_MS = 120_000;

/** A notification, and the host whose channel it came by. */
export interface Told {
  host: string;
  rule: string;
  workspaceId: string;
  tenantId: string | null;
  atMs: number;
}

/** What a cron's tick does: a run of each of these workspaces, by whoever takes the jobs of the queues of that id. */
export async function addRuns({
  id,
  redisUrl,
  workspaceIds,
}: {
  id: string;
  redisUrl: string;
  workspaceIds: readonly string[];
}): Promise<void> {
  const queue = await openBullmqQueue({
    ledgerId: id,
    target: { kind: 'url', url: redisUrl },
    logger: createLogger({ level: 'silent' }),
  });
  const slot = new Date().toISOString();
  // A job that was cut off keeps its workspace until its lock has run out.
  const add = (workspaceId: string) =>
    eventually(async () => {
      expect(await queue.addSync({ workspaceId, slot, kind: 'scheduled', attempt: 1 })).toBe('added');
    }, TICK_MS);
  await Promise.all(workspaceIds.map(add));
  await queue.stop({ deadlineMs: 1_000 });
}

/** Receives what the channels of any number of hosts send; a channel's path is its host's name. */
export async function startReceiver(): Promise<{ port: number; told: Told[] }> {
  const told: Told[] = [];
  const hook = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { rule, workspace_id, tenant_id } = JSON.parse(body) as Record<string, string | null>;
      told.push({
        ...{ host: (request.url ?? '').slice(1), rule: rule ?? '', workspaceId: workspace_id ?? '' },
        ...{ tenantId: tenant_id ?? null, atMs: Date.now() },
      });
      response.end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void hook.close());
  return { port: (hook.address() as AddressInfo).port, told };
}
