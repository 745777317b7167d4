import { existsSync, symlinkSync } from 'node:fs';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBullmqQueue } from '../../src/queue/bullmq-queue.ts';
import { startPrivateRedis } from '../../src/queue/redis/private-redis.ts';
import { createWorld, FIRST, NOON, parseJson, row, SECOND, type World, workspaceSettings } from './world.ts';

// cspell:ignore jmup

const MINUTE_MS = 60_000;

describe('status', () => {
  it('shows, as `explain` does, until which month a workspace with a short history reports few jumps', async () => {
    const usage = [row('acme', '2026-01', 1000), row('acme', '2026-02', 40_000), row('globex', '2026-02', 9000)];
    const world = await createWorld({ ...FIRST, usage });
    await world.run('sync');
    world.sandbox.workspace('ws-1').set({ tenantId: 'globex', period: '2026-02', credits: 2000, requests: 10 });
    world.clock.nowMs = NOON + 60 * MINUTE_MS;
    await world.run('sync');
    const sentence =
      'of ws-1 are rarely sent before 2026-03, and never for new tenants: its first month, 2026-01, may be incomplete';
    const { out } = await world.run('status');
    expect(out).toContain(`jumps   ${sentence}\n`);
    expect(parseJson((await world.run('status', '--json')).out).no_jumps_before).toEqual([
      { workspace_id: 'ws-1', period: '2026-03' },
    ]);
    const { alerts } = parseJson((await world.run('alerts', '--json')).out);
    expect(alerts.map(({ rule }: { rule: string }) => rule)).toEqual(['regression']);
    expect((await world.run('alerts', 'explain', alerts[0].alert_id)).out).toContain(`jumps ${sentence}\n`);
    world.clock.nowMs = Date.UTC(2026, 2, 1, 12);
    expect((await world.run('status')).out).not.toContain('rarely sent');
  });

  it('shows the freshness of each workspace and the waiting notifications', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync', '--workspace', 'ws-1');
    world.clock.nowMs = NOON + 5 * MINUTE_MS;
    const { code, out, err } = await world.run('status');
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/^ok +ws-1 +5 min ago +applied 5 min ago +2025-12 to 2026-02 +0$/m);
    expect(out).toMatch(/^never +ws-2 +never +none +0$/m);
    expect(out).toContain('1 of 2 workspaces are fresh\n');
    // What the first sync found of the past is no news.
    expect(out).toContain('alerts  0 open\n');
    expect(out).toContain('unsent  0 waiting, 0 given up\n');
    expect(out).toContain('queue   not running');
    expect(existsSync(`${world.ledgerPath}.redis`)).toBe(false);
  });

  it('shows why the last run failed, and keeps the figures of the last complete run', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    world.configure({
      workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' }],
    });
    world.clock.nowMs = NOON + MINUTE_MS;
    await world.run('sync');
    const { out } = await world.run('status');
    expect(out).toMatch(/^FAILED +ws-1 +1 min ago +failed just now +2025-12 to 2026-02/m);
    expect(out).toMatch(/^ws-1: unauthorized: .*401.*\nRun `usage-ledger doctor` for the cause and its remedy\.$/m);
    const { workspaces } = parseJson((await world.run('status', '--json')).out);
    expect(workspaces[0]).toMatchObject({
      workspace_id: 'ws-1',
      configured: true,
      last_complete_run_at: '2026-02-20T12:00:00.000Z',
      last_attempt_at: '2026-02-20T12:01:00.000Z',
      last_status: 'failed',
      last_run: { kind: 'manual', status: 'failed', error_code: 'unauthorized', pages: 0 },
      open_alerts: 1,
    });
  });

  it('keeps showing a workspace that was removed from the configuration, and counts waiting notifications', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    world.sandbox.workspace('ws-1').set({ tenantId: 'globex', period: '2026-01', credits: 7, requests: 10 });
    // Its February jumps, and its settled January is restated: of a smaller January, the jump that the first run found is critical.
    const channels = [{ type: 'webhook', name: 'gone', url: 'http://127.0.0.1:9/hook', allow_private: true }];
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, alerts: { channels } });
    await world.run('sync');
    const { out } = await world.run('status', '--json');
    const status = parseJson(out);
    expect(status.workspaces).toMatchObject([
      { workspace_id: 'ws-1', configured: true },
      { workspace_id: 'ws-2', configured: false },
    ]);
    expect(status.open_alerts).toBe(3);
    expect(status.outbox).toEqual({ pending: 3, held: 0, dead: 0 });
    expect(status.queue).toEqual({ status: 'not_running' });
    expect(status.ledger.path).toBe(world.ledgerPath);
  });

  it('counts the jobs of a running private Redis', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const dir = `${world.ledgerPath}.redis`;
    const redis = await startPrivateRedis({ dir, logger: pino({ level: 'silent' }) });
    onTestFinished(() => redis.close());
    const { queue } = parseJson((await world.run('status', '--json')).out);
    expect(queue).toMatchObject({ status: 'running', sync: { waiting: 0, active: 0 } });
    expect((await world.run('status')).out).toMatch(/^queue +.*redis\.sock; sync 0 waiting/m);
  });

  it('marks a workspace whose job waits as stale only after the time that a run may take', async () => {
    const world = await createWorld(FIRST);
    const nowMs = Date.now();
    world.clock.nowMs = nowMs - 32 * MINUTE_MS;
    world.clock.serviceMs = world.clock.nowMs;
    expect((await world.run('sync')).code).toBe(0);
    const stateAt = async (atMs: number) => {
      world.clock.nowMs = atMs;
      return (parseJson((await world.run('status', '--json')).out) as { workspaces: { state: string }[] }).workspaces[0]
        ?.state;
    };
    expect(await stateAt(nowMs)).toBe('stale');

    const logger = pino({ level: 'silent' });
    const redis = await startPrivateRedis({ dir: `${world.ledgerPath}.redis`, logger });
    onTestFinished(() => redis.close());
    const [meta] = world.query("SELECT value FROM ledger_meta WHERE name = 'ledger_id'") as { value: string }[];
    const queue = await openBullmqQueue({ ledgerId: meta?.value ?? '', target: redis.target, logger });
    onTestFinished(() => queue.stop().then(() => undefined));
    await queue.addSync({ workspaceId: 'ws-1', kind: 'scheduled', slot: '2026-03-01T00:00:00.000Z', attempt: 1 });
    expect(await stateAt(Date.now())).toBe('fresh');
    expect(await stateAt(Date.now() + 31 * MINUTE_MS)).toBe('stale');
  });

  it('does not hang or fail when the configured Redis is unreachable', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, redis_url: 'redis://user:hunter2hunter2@127.0.0.1:9' });
    const { code, out } = await world.run('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^queue +redis:\/\/127\.0\.0\.1:9 is unavailable: .*ECONNREFUSED/m);
    expect(out).not.toContain('hunter2');
  });
});

describe('status of many workspaces', () => {
  const named = (world: World) =>
    [FIRST, SECOND].map((workspace, index) => ({
      ...workspaceSettings(world.sandbox, workspace),
      name: ['Production of the north', 'Trial'][index],
    }));

  it('shows why a private Redis cannot be reached next to the facts of the ledger', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    symlinkSync(world.folder, `${world.ledgerPath}.redis`);
    const { code, out } = await world.run('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +ws-1 /m);
    expect(out).toMatch(/^queue +its private Redis is unavailable: the folder .* is a link/m);
  });

  it('lists failures first, by name on a narrow terminal, with no line wider than the terminal', async () => {
    const world = await createWorld(FIRST, SECOND);
    const [first, second] = named(world);
    world.configure({ workspaces: [first, { ...second, secret_key: 'sk_wrong_not_a_secret' }] });
    await world.run('sync');
    const narrow = (await world.runOnTerminal(80, 'status')).out;
    expect(narrow).toMatch(/FAILED +Trial +never .*\nok +Production of the north/);
    expect(narrow).not.toContain('ws-1');
    for (const line of narrow.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    const wide = (await world.runOnTerminal(200, 'status')).out;
    expect(wide).toMatch(/FAILED +ws-2 +Trial +never/);
    expect(wide).toContain('2025-12 to 2026-02');
  });

  it('marks a workspace as stale when its cron was missed twice', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    world.clock.nowMs = NOON + 31 * MINUTE_MS;
    const { out } = await world.run('status');
    expect(out).toMatch(/^ok +ws-1/m);
    expect(out).not.toContain('usage-ledger sync');
    world.clock.nowMs = NOON + 32 * MINUTE_MS;
    expect((await world.run('status')).out).toMatch(
      /^STALE +ws-1 +32 min ago.*\nRun `usage-ledger sync` to sync now, /m,
    );
    expect(parseJson((await world.run('status', '--json')).out).workspaces).toMatchObject([{ state: 'stale' }]);
  });

  it('is limited by --limit and --workspace', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    const { out } = await world.run('status', '--limit', '1');
    expect(out).toContain('and 1 more, all fresh\n');
    expect(out).not.toContain('ws-2');
    expect((await world.run('status', '--workspace', 'ws-2')).out).not.toContain('ws-1');
    expect(await world.run('status', '--workspace', 'ws-9')).toMatchObject({ code: 2 });
    expect(await world.run('status', '--limit', '0')).toMatchObject({ code: 2 });
  });
});

describe('alerts', () => {
  it('lists open alerts, also without a subcommand', async () => {
    const world = await createWorld(FIRST, SECOND);
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 900, requests: 10 });
    await world.run('sync');
    expect(await world.run('alerts')).toMatchObject({ code: 0, err: 'no open alerts\n' });
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 5000, requests: 10 });
    await world.run('sync');
    const { code, out, err } = await world.run('alerts', 'list');
    expect(code).toBe(0);
    expect(err).toBe('');
    // What it has beside the month before: no whole day was read yet, so nothing is foretold.
    expect(out).toMatch(
      /^warn +2026-\S+ \S+ +jump happened +acme +2026-02 +4,000 +alert_\w+ +acme \(ws-1\): 5,000 .*\.$/m,
    );
    expect((await world.run('alerts')).out).toBe(out);
    const { filters, alerts } = parseJson((await world.run('alerts', '--json')).out);
    expect(filters).toEqual({
      ...{ states: 'open', workspace_id: null, tenant_id: null, period: null, rule: null, severity: null },
    });
    expect(alerts).toMatchObject([
      {
        workspace_id: 'ws-1',
        tenant_id: 'acme',
        period: '2026-02',
        rule: 'jump',
        level: 'happened',
        current_credits: 5000,
      },
    ]);
  });

  it('filters by state and workspace, and notes when none match', async () => {
    const world = await createWorld(FIRST, SECOND);
    await world.run('sync');
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 6000, requests: 10 });
    for (const _ of ['one run finds the cause gone', 'a second one agrees']) await world.run('sync');

    const open = parseJson((await world.run('alerts', '--json')).out).alerts;
    expect(open).toMatchObject([{ rule: 'restatement', period: '2026-01' }]);
    const quiet = await world.run('alerts', '--workspace', 'ws-2');
    expect(quiet).toMatchObject({ code: 0, err: 'no open alerts\n' });
    expect(parseJson((await world.run('alerts', 'list', '--state', 'resolved', '--json')).out).alerts).toHaveLength(1);
    expect(parseJson((await world.run('alerts', 'list', '--all', '--json')).out).alerts).toHaveLength(2);
    const other = await world.run('alerts', 'list', '--all', '--workspace', 'ws-2', '--json');
    expect(parseJson(other.out).alerts).toEqual([]);
    expect(other.err).toBe('no alert matches\n');
  });

  it('filters by tenant, period, rule and severity, and stops at --limit', async () => {
    const world = await createWorld(FIRST);
    // January totals so much that nothing is critical, but for acme.
    const alerts = { tenants: [{ match: 'acme', critical_share: 0 }] };
    world.configure({ workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), alerts }] });
    await world.run('sync');
    for (const [tenantId, period, credits] of [
      ['acme', '2026-02', 9000],
      ['initech', '2026-02', 50_000],
    ] as const) {
      world.sandbox.workspace('ws-1').set({ tenantId, period, credits, requests: 10 });
    }
    await world.run('sync');
    const list = async (...argv: string[]) => {
      const { out, err } = await world.run('alerts', 'list', ...argv, '--json');
      return { found: parseJson(out).alerts as { rule: string; tenant_id: string; period: string }[], err };
    };
    const all = (await list()).found;
    expect(all).toMatchObject([
      { rule: 'jump', tenant_id: 'acme', severity: 'critical' },
      { rule: 'new_spend', tenant_id: 'initech', severity: 'warning' },
    ]);
    for (const [index, tenant, rule, severity] of [
      [0, 'acme', 'jump', 'critical'],
      [1, 'initech', 'new_spend', 'warning'],
    ] as const) {
      for (const filter of [
        ['--tenant', tenant],
        ['--rule', rule],
        ['--severity', severity],
      ]) {
        expect((await list(...filter)).found, filter.join(' ')).toEqual([all[index]]);
      }
    }
    expect((await list('--period', '2026-02')).found).toEqual(all);
    expect((await list('--period', '2026-01')).found).toEqual([]);
    expect(await list('--limit', '1')).toEqual({ found: all.slice(0, 1), err: `${all.length - 1} more\n` });
    expect((await list('--tenant', 'nobody')).err).toContain('no alert matches\n');
  });

  it.each([
    [['--rule', 'jmup'], "argument 'jmup' is invalid"],
    [['--period', '2026-13'], '--period'],
    [['--limit', 'x'], '--limit'],
    [['--state', 'burning'], "argument 'burning' is invalid"],
    [['--state', 'firing', '--all'], 'cannot be used with'],
    [['--workspace', 'ws-9'], 'use one of "ws-1"'],
  ])('refuses %j with exit code 2', async (argv, message) => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    const { code, err } = await world.run('alerts', 'list', ...argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
