import { describe, expect, it, onTestFinished } from 'vitest';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { createThreadedWorld as createWorld, FIRST, parseJson, SECOND, workspaceSettings } from './world.ts';

describe('sync that fails', () => {
  it('names the address of a service that refuses the connection', async () => {
    const world = await createWorld(FIRST);
    world.configure({ workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), base_url: 'http://127.0.0.1:9' }] });
    const { code, err } = await world.run('sync');
    expect(code).toBe(1);
    expect(err).toMatch(/^ws-1: workspace usage: the connection failed: connection refused/);
    expect(err).toContain('\n  base_url: http://127.0.0.1:9');
  });

  it('tells of its own failure before it ends, where no daemon could', async () => {
    const receiver = await startReceiver((response) => response.writeHead(204).end());
    onTestFinished(() => receiver.close());
    const world = await createWorld(FIRST);
    const channel = { type: 'webhook', url: receiver.url, allow_private: true };
    world.configure({
      workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' }],
      alerts: { channels: [channel] },
    });
    expect((await world.run('sync', '--dry-run')).code).toBe(1);
    expect(receiver.received).toEqual([]);
    expect((await world.run('sync')).code).toBe(1);
    const told = receiver.received.map(({ body }) => JSON.parse(body.toString('utf8')));
    expect(told).toMatchObject([
      { type: 'alert.firing', rule: 'sync_failed', cause: 'credentials', workspace_id: 'ws-1' },
    ]);
  });

  it('ends with 3 when one workspace fails, and the others are done', async () => {
    const world = await createWorld(FIRST, SECOND);
    world.configure({
      workspaces: [
        { ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' },
        workspaceSettings(world.sandbox, SECOND),
      ],
    });
    const { code, out, err } = await world.run('sync', '--json');
    expect(code).toBe(3);
    expect(parseJson(out).workspaces).toMatchObject([
      {
        workspace_id: 'ws-1',
        status: 'failed',
        error: { code: 'unauthorized', hint: expect.stringContaining('secret_key') },
      },
      { workspace_id: 'ws-2', status: 'applied', records: 2 },
    ]);
    expect(err).toContain('ws-1: ');
    expect(out + err).not.toContain('sk_wrong_not_a_secret');
    expect(world.query('SELECT workspace_id, status, error_code FROM finance_runs ORDER BY workspace_id')).toEqual([
      { workspace_id: 'ws-1', status: 'failed', error_code: 'unauthorized' },
      { workspace_id: 'ws-2', status: 'applied', error_code: null },
    ]);
  });

  it('ends with 1 when every workspace fails', async () => {
    const world = await createWorld(FIRST);
    world.configure({
      workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' }],
    });
    expect((await world.run('sync')).code).toBe(1);
  });
});
