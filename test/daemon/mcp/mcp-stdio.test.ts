import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf, parseJson, type World } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { CLI } from '../../support/daemon-process.ts';
import { connectOverStdio } from './mcp-client.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

/** Starts `usage-ledger mcp` and speaks the protocol by hand: `say` sends a line, `lines` are those of its stdout. */
function startByHand({ folder }: World) {
  const child = spawn(process.execPath, [CLI, 'mcp'], { cwd: folder, env: { PATH: process.env.PATH } });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const exited = once(child, 'close').then(([code]) => code as number);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, lines, exited, say: (text: string) => child.stdin.write(`${text}\n`) };
}

describe('usage-ledger mcp', () => {
  it('offers the operations that read and answers like the command', async () => {
    const world = await worldOfOperations();
    const { client, call } = await connectOverStdio(world);
    const { tools } = await client.listTools();
    const reads = OPERATIONS.filter(({ role }) => role === 'read').map(({ name }) => name.replace('.', '_'));
    expect(tools.map(({ name }) => name)).toEqual(reads);
    const { snapshot, next_cursor, ...document } = (await call('usage_list', { period: '2026-02' })).json;
    expect(document).toEqual(parseJson((await world.run('usage', '--period', '2026-02', '--json')).out));
    expect(snapshot.complete).toBe(true);
    expect(await call('tenants_show', { tenant_id: 'nobody' })).toMatchObject({
      isError: false,
      json: { workspaces: [] },
    });
  });

  it('writes the protocol alone to stdout, survives what is not a message, and ends with its input', async () => {
    const { child, lines, exited, say } = startByHand(await worldOfOperations());
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    say('this is no message');
    say(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    say(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'head_read', arguments: {} } }));
    say(JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'sync_start', arguments: {} } }));
    while (!lines.some((line) => line.includes('"id":3'))) await once(child.stdout, 'data');
    child.stdin.end();
    expect(await exited).toBe(0);
    const messages = lines.map((line) => JSON.parse(line) as { jsonrpc: string; id?: number; error?: object });
    expect(messages.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(messages.find(({ id }) => id === 3)?.error).toMatchObject({ code: -32602 });
  });

  it('without a ledger says what to do, and answers once there is one', async () => {
    const world = await worldOfOperations();
    rmSync(world.ledgerPath);
    const { call } = await connectOverStdio(world);
    const missing = await call('head_read');
    expect(missing).toMatchObject({ isError: true, json: { code: 'ledger_missing', hint: expect.any(String) } });
    expect(await world.run('sync')).toMatchObject({ code: 0 });
    expect((await call('periods_list')).json.rows.length).toBeGreaterThan(0);
  });

  it('shows the ledger that a restore has put in the place of another', async () => {
    const world = await worldOfOperations();
    const { call } = await connectOverStdio(world);
    expect(await world.run('backup', 'before.db')).toMatchObject({ code: 0 });
    world.clock.nowMs += 3_600_000;
    world.sandbox.workspace('ws-2').set({ tenantId: 'later', period: '2026-02', credits: 5, requests: 1 });
    await world.run('sync');
    const later = { tenant: 'later' };
    expect((await call('usage_list', later)).json.rows).toHaveLength(1);
    expect(await world.run('restore', 'before.db')).toMatchObject({ code: 0 });
    expect((await call('usage_list', later)).json.rows).toHaveLength(0);
  });
});
