import { describe, expect, it } from 'vitest';
import { createThreadedWorld as createWorld, FIRST, parseJson, SECOND } from './world.ts';

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
