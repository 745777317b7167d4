import { describe, expect, it } from 'vitest';
import { createWorld, FIRST, NOON, parseJson, row, SECOND, type World, workspaceSettings } from '../world.ts';

// cspell:ignore amce

const HOUR_MS = 3_600_000;

async function syncedTwice(): Promise<World> {
  const world = await createWorld(FIRST, SECOND);
  await world.run('sync');
  world.clock.nowMs = NOON + HOUR_MS / 60;
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 12 });
  await world.run('sync');
  return world;
}

describe('tenant', () => {
  it('shows what the ledger holds and how it came to that, in every workspace that knows the tenant', async () => {
    const world = await syncedTwice();
    const { code, out } = await world.run('tenant', 'acme');
    expect(code).toBe(0);
    expect(out).toMatch(/^acme in ws-1$/m);
    expect(out).toMatch(/^acme in ws-2$/m);
    expect(out).toMatch(/2026-02 +6,000 +12 /);
    expect(out).toMatch(/2026-02 +increased +\+1,000 +6,000 +\+2 +12 +run_/);
  });

  it('gives state and entries as data, of one workspace if asked', async () => {
    const world = await syncedTwice();
    const { out } = await world.run('tenant', 'acme', '--workspace', 'ws-1', '--json');
    const { tenant_id, workspaces } = parseJson(out);
    expect(tenant_id).toBe('acme');
    expect(workspaces).toHaveLength(1);
    expect(workspaces[0]).toMatchObject({
      workspace_id: 'ws-1',
      live: null,
      usage: [
        { period: '2025-12', credits_used: 1000 },
        { period: '2026-01', credits_used: 1000 },
        { period: '2026-02', credits_used: 6000, changed_at: '2026-02-20T12:01:00.000Z' },
      ],
    });
    expect(workspaces[0].entries.map((entry: { kind: string }) => entry.kind)).toEqual([
      'opened',
      'opened',
      'opened',
      'increased',
    ]);
    expect(workspaces[0].entries.at(-1)).toMatchObject({ period: '2026-02', credits_delta: 1000, credits_after: 6000 });
  });

  it('is narrowed by --period and cut by --limit, which keeps the latest entries', async () => {
    const world = await syncedTwice();
    const one = ['tenant', 'acme', '--workspace', 'ws-1'];
    const { out } = await world.run(...one, '--period', '2026-02', '--json');
    const [workspace] = parseJson(out).workspaces;
    expect(workspace.usage).toMatchObject([{ period: '2026-02' }]);
    expect(workspace.entries).toMatchObject([{ kind: 'opened' }, { kind: 'increased' }]);
    const cut = await world.run(...one, '--limit', '1', '--json');
    expect(parseJson(cut.out).workspaces[0].entries).toMatchObject([{ kind: 'increased', credits_after: 6000 }]);
    expect(cut.err).toBe('ws-1: 3 earlier entries not shown\n');
    const csv = await world.run(...one, '--limit', '2', '--format', 'csv');
    expect(csv.out.trimEnd().split(/\r?\n/)).toHaveLength(3);
    const live = parseJson((await world.run(...one, '--live', '--period', '2026-02', '--json')).out);
    expect(live.workspaces[0].live.periods).toMatchObject([{ period: '2026-02', same: true }]);
    expect(await world.run(...one, '--period', '2026-13')).toMatchObject({ code: 2 });
    expect(await world.run(...one, '--limit', '0')).toMatchObject({ code: 2 });
  });

  it('says in words that a tenant is not known', async () => {
    const world = await syncedTwice();
    const text = await world.run('tenant', 'nobody');
    const err = 'no data for tenant "nobody"\n  See all tenants with `usage-ledger tenants list`.\n';
    expect(text).toMatchObject({ code: 1, err });
    expect(text.out).toBe('');
    expect(parseJson((await world.run('tenant', 'nobody', '--json')).out)).toEqual({
      tenant_id: 'nobody',
      workspaces: [],
    });
  });

  it('names what may have been meant, wherever a tenant can be asked for', async () => {
    const world = await syncedTwice();
    const meant = '  Did you mean "acme"?\n';
    expect(await world.run('tenant', 'amce')).toMatchObject({
      code: 1,
      out: '',
      err: `no data for tenant "amce"\n${meant}`,
    });
    for (const command of [
      'usage --tenant amce',
      'usage --tenant amce --json',
      'usage --tenant amce --format csv',
      'statement 2026-02 --workspace ws-1 --tenant amce',
      'export usage --tenant amce',
      'alerts list --all --tenant amce',
    ]) {
      const { code, err } = await world.run(...command.split(' '));
      expect(err, command).toContain(meant);
      if (!command.startsWith('alerts')) expect(code, command).toBe(1);
    }
    // A tenant that is known has nothing in this period: that is all there is to say.
    expect((await world.run('usage', '--tenant', 'acme', '--period', '2020-01')).err).not.toContain('Did you mean');
  });

  it('names the workspace that has a tenant, when it was looked for in another one', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync', '--workspace', 'ws-1');
    const { err } = await world.run('usage', '--tenant', 'acme', '--workspace', 'ws-2');
    expect(err).toBe('no usage matches\n  "acme" is in workspace ws-1\n');
  });

  it('refuses a workspace that nobody knows', async () => {
    const world = await syncedTwice();
    const { code, err } = await world.run('tenant', 'acme', '--workspace', 'ws-9');
    expect(code).toBe(2);
    expect(err).toContain('use one of "ws-1", "ws-2"');
  });
});

describe('tenant --live', () => {
  it('shows ledger and service side by side and marks what differs', async () => {
    const world = await syncedTwice();
    const service = world.sandbox.workspace('ws-1');
    service.set({ tenantId: 'acme', period: '2026-01', credits: 9007199254740995n, requests: 10 });
    service.set({ tenantId: 'acme', period: '2025-11', credits: 3, requests: 1 });
    service.remove('acme', '2025-12');

    const json = await world.run('tenant', 'acme', '--live', '--workspace', 'ws-1', '--json');
    expect(json.code).toBe(0);
    expect(parseJson(json.out).workspaces[0].live).toEqual({
      complete: true,
      periods: [
        {
          period: '2025-11',
          ledger: null,
          service: { credits_used: 3, request_count: 1 },
          credits_difference: 3,
          same: false,
        },
        {
          period: '2025-12',
          ledger: { credits_used: 1000, request_count: 10 },
          service: null,
          credits_difference: -1000,
          same: false,
        },
        {
          period: '2026-01',
          ledger: { credits_used: 1000, request_count: 10 },
          service: { credits_used: 9007199254740995n, request_count: 10 },
          credits_difference: 9007199254739995,
          same: false,
        },
        {
          period: '2026-02',
          ledger: { credits_used: 6000, request_count: 12 },
          service: { credits_used: 6000, request_count: 12 },
          credits_difference: 0,
          same: true,
        },
      ],
    });

    const { out } = await world.run('tenant', 'acme', '--live', '--workspace', 'ws-1');
    expect(out).toMatch(/2025-11 .*<- only in the service/);
    expect(out).toMatch(/2025-12 .*<- only in the ledger/);
    expect(out).toMatch(/2026-01 +1,000 +9,007,199,254,740,995 .*<- differs/);
    expect(out).toMatch(/2026-02 .* same$/m);
  });

  it('reads all pages', async () => {
    const months = Array.from({ length: 12 }, (_, month) => `2025-${String(month + 1).padStart(2, '0')}`);
    const world = await createWorld({ ...FIRST, usage: months.map((month) => row('acme', month, 5)) });
    world.configure({ workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), per_page: 5 }] });
    await world.run('migrate');
    const { out } = await world.run('tenant', 'acme', '--live', '--json');
    const { live } = parseJson(out).workspaces[0];
    expect(live.complete).toBe(true);
    expect(live.periods.map(({ period }: { period: string }) => period)).toEqual(months);
    expect(world.sandbox.requests.records).toHaveLength(3);
  });

  it('shows what the ledger holds even where the service cannot be asked, and ends with 3', async () => {
    const world = await syncedTwice();
    world.configure({
      workspaces: [
        { ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' },
        workspaceSettings(world.sandbox, SECOND),
      ],
    });
    const { code, out, err } = await world.run('tenant', 'acme', '--live', '--json');
    expect(code).toBe(3);
    expect(parseJson(out).workspaces).toMatchObject([
      { workspace_id: 'ws-1', usage: [{}, {}, {}], live: { error: { code: 'unauthorized' } } },
      { workspace_id: 'ws-2', live: { complete: true } },
    ]);
    expect(err).toContain('secret_key');
    expect((await world.run('tenant', 'acme', '--live', '--workspace', 'ws-1')).code).toBe(1);
  });
});
