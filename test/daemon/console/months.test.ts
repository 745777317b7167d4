import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copiesOf, createWorld, row, type World, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveConsole, type Visitor } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const PERIOD = '2026-01';
const CARD = { name: 'standard', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01' };

/** Six workspaces whose January is over and settled; two of them grew too much. */
async function sixWorkspaces(): Promise<World> {
  const workspaces = Array.from({ length: 6 }, (_, at) => ({
    id: `ws-${String(at).padStart(2, '0')}`,
    api_key_id: `ak_${at}`,
    secret_key: `sk_${at}_not_a_secret`,
    usage: [row('acme', '2025-12', 1000), row('acme', '2026-01', at < 2 ? 9000 : 1100), row('acme', '2026-02', 500)],
  }));
  const served = await createWorld(...workspaces);
  served.configure({
    workspaces: workspaces.map((workspace) => workspaceSettings(served.sandbox, workspace)),
    close: { max_change: '50%' },
  });
  writeFileSync(join(served.folder, 'cards.yml'), JSON.stringify({ rates: [CARD] }));
  await served.run('sync');
  await served.run('rates', 'apply', 'cards.yml', '--yes');
  // Two complete walks half a day apart prove a month.
  served.clock.nowMs += 13 * 3_600_000;
  await served.run('sync');
  return served;
}

async function stateOf(served: World): Promise<Record<string, number>> {
  const rows = served.query(
    `SELECT state, count(*) AS n FROM finance_period_totals WHERE period = '${PERIOD}' GROUP BY state`,
  );
  return Object.fromEntries((rows as { state: string; n: number }[]).map(({ state, n }) => [state, Number(n)]));
}

async function shownAfter(visitor: Visitor): Promise<string> {
  const { body } = await visitor.get(`/months/${PERIOD}`);
  return /role="(?:status|alert)">([^<]*)/.exec(body)?.[1] ?? '';
}

describe('the months', () => {
  it('lists each month with its totals and how many workspaces have closed it', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const { body } = await (await signIn('read')).get('/months');
    expect(body).toContain('<a href="/months/2026-02">February 2026</a>');
    expect(body).toMatch(/January 2026<\/a><\/th><td><span class="badge good">closed/);
    const [sum] = served.query(
      `SELECT format('%,d', sum(credits_used)) AS credits FROM finance_usage WHERE period = '${PERIOD}'`,
    ) as { credits: string }[];
    expect(body).toContain(`>${sum?.credits}<`);
    expect((await (await signIn('read')).get('/months/2026-13')).status).toBe(404);
  });

  it('closes what is ready, accepts large changes with a note, and reopens', async () => {
    const served = await sixWorkspaces();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const plan = (await visitor.get(`/months/${PERIOD}`)).body;
    expect(/<p>(\d+ closed[^<]*)/.exec(plan)?.[1]).toBe('0 closed, 4 ready, 2 blocked');
    expect(plan).toMatch(/usage-ledger close 2026-01 --all --accept-change ws-00/);
    await visitor.post(`/months/${PERIOD}/close`, { scope: 'ready', note: 'January' });
    expect(await shownAfter(visitor)).toContain('4 workspaces closed.');
    expect((await stateOf(served)).closed).toBe(4);
    await visitor.post(`/months/${PERIOD}/close`, { scope: 'accept', id: ['ws-00', 'ws-01'] });
    expect(await shownAfter(visitor)).toContain('needs note');
    await visitor.post(`/months/${PERIOD}/close`, { scope: 'accept', id: ['ws-00', 'ws-01'], note: 'new contract' });
    expect(await shownAfter(visitor)).toContain('2 workspaces closed.');
    expect(await stateOf(served)).toEqual({ closed: 6 });
    expect(served.query("SELECT DISTINCT actor, note FROM finance_closes WHERE workspace_id = 'ws-00'")).toEqual([
      { actor: 'Ada Lovelace (signed in)', note: 'new contract' },
    ]);
    await visitor.post(`/months/${PERIOD}/reopen`, { id: 'ws-05', note: 'late credit' });
    expect(await shownAfter(visitor)).toContain('1 workspace reopened.');
    expect((await stateOf(served)).closed).toBe(5);
  });

  it('shows on-call no form, and refuses theirs', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('operate');
    expect((await visitor.get('/months/2026-01')).body).not.toContain('/close"');
    for (const action of ['close', 'reopen']) {
      const answer = await visitor.post(`/months/2026-01/${action}`, { id: 'ws-1', note: 'x', scope: 'selected' });
      expect([action, answer.status]).toEqual([action, 403]);
    }
  });
});

describe('runs and system', () => {
  it('lists runs, the latest first, of one workspace and with one result', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    const runs = served.query('SELECT run_id FROM finance_runs ORDER BY started_at DESC, run_id') as {
      run_id: string;
    }[];
    const { body } = await visitor.get('/runs');
    const shown = [...body.matchAll(/<small[^>]*>([\w-]{36}|run_\w+)<\/small>/g)].map(([, id]) => id);
    expect(new Set(shown)).toEqual(new Set(runs.map(({ run_id }) => run_id)));
    expect((await visitor.get('/runs?workspace=ws-2')).body).toContain('<h2>');
    expect((await visitor.get('/runs?status=failed')).body).toContain('No runs.');
  });

  it('shows the head of the chain, tests a channel and verifies the ledger', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('operate');
    const { body } = await visitor.get('/system');
    const [{ digest }] = served.query('SELECT digest FROM period_events ORDER BY event_seq DESC LIMIT 1') as [
      { digest: string },
    ];
    expect(body).toContain(digest);
    await visitor.post('/system/verify', {});
    expect((await visitor.get('/system')).body).toContain('Ledger verified:');
    await visitor.post('/system/test-channel', { channel: 'log' });
    expect((await visitor.get('/system')).body).toContain('log accepted the test');
    const reader = await signIn('read');
    expect((await reader.post('/system/test-channel', { channel: 'log' })).status).toBe(403);
  });
});
