import { expect, it } from 'vitest';
import { createWorld, FIRST, parseJson, row, type World } from '../world.ts';

const TENANTS = ['ant', 'bee', 'cat', 'dog', 'eel', 'fox'];

/** Six tenants jump at once, which the log hears in one message; its id. */
async function group(world: World): Promise<string> {
  const upstream = world.sandbox.workspace('ws-1');
  const set = (tenant: string, period: string, credits: number) => {
    const { tenant_id, credits_used, request_count } = row(tenant, period, credits);
    upstream.set({ tenantId: tenant_id, period, credits: credits_used, requests: request_count });
  };
  for (const tenant of TENANTS) for (const period of ['2025-12', '2026-01', '2026-02']) set(tenant, period, 10_000);
  await world.run('sync', '--from', '2025-12');
  for (const tenant of TENANTS) set(tenant, '2026-02', 20_000);
  await world.run('sync');
  const [id] = world
    .query("SELECT notification_id FROM deliveries WHERE form = 'group'")
    .map((one) => String((one as { notification_id: string }).notification_id));
  return id ?? '';
}

it('a message about several alerts is acknowledged, muted and labelled by its own id', async () => {
  const world = await createWorld(FIRST);
  const id = await group(world);
  expect(id).toMatch(/^msg_\w+$/);
  const acknowledged = parseJson((await world.run('alerts', 'ack', id, '--by', 'Ada', '--json')).out);
  expect(acknowledged).toMatchObject({ notification_id: id, by: 'Ada' });
  expect(acknowledged.acknowledged).toHaveLength(6);
  expect(world.query("SELECT DISTINCT actor FROM alert_transitions WHERE change = 'acknowledged'")).toEqual([
    { actor: 'Ada' },
  ]);
  expect(await world.run('alerts', 'ack', id)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is acknowledged'),
  });

  const until = ['--until', '2026-06-08', '--reason', 'a campaign'];
  const muted = parseJson((await world.run('alerts', 'silence', '--alert', id, ...until, '--json')).out);
  expect(muted.silence_ids).toHaveLength(6);
  expect(world.query('SELECT rule, tenant, period FROM silences ORDER BY tenant')).toEqual(
    TENANTS.map((tenant) => ({ rule: 'jump', tenant, period: '2026-02' })),
  );

  const said = await world.run('alerts', 'feedback', id, 'expected', '--by', 'Bo');
  expect(said.out).toBe(`6 alerts in ${id} labelled expected by Bo\n`);
  expect(world.query('SELECT label, actor FROM alert_feedback')).toEqual(
    TENANTS.map(() => ({ label: 'expected', actor: 'Bo' })),
  );
});

it('a message that nobody knows is refused', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  for (const command of [
    ['ack', 'msg_none'],
    ['feedback', 'msg_none', 'real'],
  ]) {
    const { code, err } = await world.run('alerts', ...command);
    expect([code, err]).toEqual([1, expect.stringContaining('there is no message "msg_none" about any alert')]);
  }
});
