import { describe, expect, it, onTestFinished } from 'vitest';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { createThreadedWorld as createWorld, FIRST, parseJson, SECOND, workspaceSettings } from './world.ts';

describe('sync', () => {
  it('says what each workspace brought', async () => {
    const world = await createWorld(FIRST, SECOND);
    const first = await world.run('sync');
    expect(first.code).toBe(0);
    expect(first.out).toContain('ws-1: recorded 6 entries: 6 opened (6 records on 1 page)\n');
    expect(first.out).toContain('ws-2: recorded 2 entries: 2 opened (2 records on 1 page)\n');
    expect(first.out).toContain('First sync: recorded 1 existing condition without notifying anyone.');

    world.sandbox.workspace('ws-2').set({ tenantId: 'initech', period: '2026-02', credits: 90, requests: 11 });
    const second = await world.run('sync', '--workspace', 'ws-2');
    expect(second.out).toBe('ws-2: recorded 1 entry: 1 increased (2 records on 1 page)\n');
    expect((await world.run('sync', '--workspace', 'ws-2')).out).toContain('ws-2: nothing changed');
  });

  it('gives one JSON document with exact integers', async () => {
    const world = await createWorld(FIRST);
    const { code, out } = await world.run('sync', '--json');
    expect(code).toBe(0);
    const report = parseJson(out);
    expect(report).toMatchObject({
      dry_run: false,
      workspaces: [
        {
          workspace_id: 'ws-1',
          status: 'applied',
          from_period: null,
          to_period: '2026-02',
          records: 6,
          entries: 6,
          entries_by_kind: { opened: 6, increased: 0, decreased: 0, withdrawn: 0, restored: 0 },
          alerts: [{ change: 'fired', tenant_id: 'acme', current_credits: 5000, silent: true }],
        },
      ],
    });
    expect(report.workspaces[0].digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('asks for the window that was given', async () => {
    const world = await createWorld(FIRST);
    const { out } = await world.run('sync', '--from', '2026-01', '--to', '2026-01', '--json');
    expect(parseJson(out).workspaces[0]).toMatchObject({ from_period: '2026-01', to_period: '2026-01', records: 2 });
  });

  it('refuses a first period that has not begun, and asks the service nothing', async () => {
    const world = await createWorld(FIRST);
    const { code, err } = await world.run('sync', '--from', '2026-03');
    expect(code).toBe(2);
    expect(err).toContain('error: --from 2026-03 is in the future\n  use 2026-02 or earlier');
    expect(world.sandbox.requests.count).toBe(0);
  });

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

  it('syncs workspaces side by side, so that one which waits for its service holds up no other', async () => {
    const world = await createWorld(FIRST, SECOND);
    const asked = new Set<string>();
    const bothAsked = Promise.withResolvers<void>();
    const run = ({ workspaceId }: { workspaceId: string | null }): Promise<void> => {
      asked.add(workspaceId ?? '');
      if (asked.size === 2) bothAsked.resolve();
      return bothAsked.promise;
    };
    world.sandbox.faults.push({ times: 2, action: { type: 'before', run } });
    const { code, out } = await world.run('sync', '--json');
    expect(code).toBe(0);
    expect(parseJson(out).workspaces).toMatchObject([{ workspace_id: 'ws-1' }, { workspace_id: 'ws-2' }]);
  });

  it('ends with 1 when every workspace fails', async () => {
    const world = await createWorld(FIRST);
    world.configure({
      workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' }],
    });
    expect((await world.run('sync')).code).toBe(1);
  });

  it.each([
    [['--from', '2026-02', '--to', '2026-01'], '--from 2026-02 is after --to 2026-01'],
    [['--from', '2026-13'], '--from "2026-13" is not a month'],
    [['--workspace', 'ws-9'], 'workspace "ws-9" is not configured'],
  ])('refuses %j with exit code 2', async (argv, message) => {
    const world = await createWorld(FIRST);
    const { code, out, err } = await world.run('sync', ...argv);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(message);
    expect(world.sandbox.requests.records).toHaveLength(0);
  });
});
