import { describe, expect, it } from 'vitest';
import { copiesOf, createWorld, FIRST } from '../../commands/world.ts';
import { textOf } from './page-text.ts';
import { serveConsole } from './served-console.ts';

const runs = copiesOf(async () => {
  const served = await createWorld(FIRST);
  await served.run('sync');
  served.clock.nowMs += 3_600_000;
  await served.sandbox.close();
  await served.run('sync');
  return served;
});

describe('the page of a run', () => {
  it('shows what was read, with the certificate, or why it failed and what to do', async () => {
    const served = await runs();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    const found = served.query('SELECT run_id, status, digest, records FROM finance_runs ORDER BY started_at') as {
      run_id: string;
      status: string;
      digest: string | null;
      records: number;
    }[];
    expect(found.map(({ status }) => status)).toEqual(['applied', 'failed']);
    const [applied, failed] = found;
    const list = (await visitor.get('/runs')).body;
    for (const { run_id } of found) expect(list).toContain(`href="/runs/${run_id}"`);
    const good = textOf((await visitor.get(`/runs/${applied?.run_id}`)).body);
    expect(good).toContain(`Records read ${applied?.records} on 1 page`);
    expect(good).toContain('complete');
    expect(good).toContain(applied?.digest);
    const bad = textOf((await visitor.get(`/runs/${failed?.run_id}`)).body);
    expect(bad).toContain('Check that the service is reachable from this machine. The daemon tries again by itself.');
    expect(bad).toContain('nothing was applied');
    expect((await visitor.get('/runs/none')).status).toBe(404);
  });

  it('lets on-call sync again, and nobody else', async () => {
    const served = await runs();
    const queued: string[] = [];
    const { signIn } = await serveConsole(
      served,
      {},
      { enqueueSync: async (id) => (queued.push(id) > 0 ? 'added' : 'exists') },
    );
    const [{ run_id }] = served.query("SELECT run_id FROM finance_runs WHERE status = 'failed'") as [
      { run_id: string },
    ];
    expect((await (await signIn('read')).get(`/runs/${run_id}`)).body).not.toContain('Sync now');
    const visitor = await signIn('operate');
    expect((await visitor.get(`/runs/${run_id}`)).body).toContain('Sync now');
    await visitor.post('/runs/sync', { workspace: 'ws-1' });
    expect(queued).toEqual(['ws-1']);
  });
});
