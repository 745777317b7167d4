import { expect, it } from 'vitest';
import { notifications } from '../../support/messages.ts';
import { createWorld, FIRST, parseJson, SECOND, workspaceSettings } from '../world.ts';
import { jumpOfGlobex } from './jump-of-globex.ts';

// cspell:ignore jmup

const UNTIL = '2026-03-01';
const IN_FORCE = ['--until', UNTIL, '--reason', 'expected'];

it.each([
  ['silence', ['--until', UNTIL], '--reason'],
  ['silence', ['--reason', 'x'], '--until'],
  ['silence', ['--reason', 'x', '--until', 'tomorrow'], 'is not a time'],
  ['silence', ['--reason', 'x', '--until', '2026-01-01'], 'is in the past'],
  ['silence', [...IN_FORCE, '--rule', 'jmup'], 'there is no rule "jmup"'],
  ['silence', [...IN_FORCE, '--rule', 'sync_*'], 'which must be named in full'],
  ['silence', [...IN_FORCE, '--rule', 'sync_failed:nonsense'], 'there is no rule "sync_failed:nonsense"'],
  ['silence', [...IN_FORCE, '--rule', 'jump:clock'], 'there is no rule "jump:clock"'],
  ['silence', [...IN_FORCE, '--rule', 'job_failed:backup', '--workspace', 'ws-1'], 'remove --workspace'],
  ['silence', [...IN_FORCE, '--from', UNTIL], 'is not before --until'],
  ['silence', [...IN_FORCE, '--weekdays', 'someday'], '--weekdays "someday" cannot be understood'],
  ['silence', [...IN_FORCE, '--time-zone', 'Nowhere'], '--time-zone "Nowhere" is not known'],
  ['plan', [...IN_FORCE], 'all growth of all tenants'],
  ['plan', [...IN_FORCE, '--tenant', '*'], 'all growth of all tenants'],
])('a %s with %j is refused', async (kind, argv, why) => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  expect(await world.run('alerts', kind, ...argv)).toMatchObject({ code: 2, err: expect.stringContaining(why) });
});

it('nothing is muted, acknowledged or labelled in a workspace that another ledger reads', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  await world.run('workspace', 'end', 'ws-1', '--elsewhere', '--note', 'machine B reads it');
  const commands = [
    ['silence', '--workspace', 'ws-1', ...IN_FORCE],
    ['plan', '--alert', id, ...IN_FORCE],
    ['ack', id],
    ['feedback', id, 'false'],
  ];
  for (const command of commands) {
    const { code, err } = await world.run('alerts', ...command);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('workspace "ws-1" was ended at') });
  }
});

it('a silence says what it would have muted in the last 90 days, and warns when it fits nobody', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  const all = await world.run('alerts', 'silence', '--tenant', 'glo*', ...IN_FORCE);
  expect(all.out).toContain('it would have muted 1 notification of 1 alert (1 jump)');
  expect(all.err).toBe('');
  const own = parseJson((await world.run('alerts', 'silence', '--alert', id, ...IN_FORCE, '--json')).out);
  expect(own.last_90_days).toEqual({ notifications: 1, alerts: 1, rules: [{ rule: 'jump', notifications: 1 }] });
  expect(world.query(`SELECT rule, tenant, period FROM silences WHERE silence_id = '${own.silence_id}'`)).toEqual([
    { rule: 'jump', tenant: 'globex', period: '2026-02' },
  ]);

  const nobody = await world.run('alerts', 'silence', '--tenant', 'glob?x[1]', ...IN_FORCE);
  expect(nobody).toMatchObject({ code: 0, out: expect.stringContaining('would have muted nothing') });
  expect(nobody.err).toContain('no tenant matches "glob?x[1]"');
  world.clock.nowMs += 91 * 86_400_000;
  const later = await world.run('alerts', 'silence', '--tenant', 'glo*', '--until', '2027-01-01', '--reason', 'x');
  expect(later.out).toContain('would have muted nothing');
});

it('a silence of an alert that fires already stands in its explanation at once', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  expect((await world.run('alerts', 'explain', id)).out).not.toContain('not sent:');
  const silence = await world.run('alerts', 'silence', '--alert', id, ...IN_FORCE, '--json');
  const { silence_id } = parseJson(silence.out);
  for (const command of ['show', 'explain']) {
    expect((await world.run('alerts', command, id)).out).toContain(`not sent: muted by ${silence_id}`);
  }
  expect((await world.run('alerts', 'explain', id)).out).toContain(`alerts unsilence ${silence_id}`);
  await world.run('alerts', 'unsilence', silence_id);
  expect((await world.run('alerts', 'explain', id)).out).not.toContain('not sent:');
});

it('a time may have an offset, or be a day', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const until = ['2027-04-01T08:00:00+02:00', '2027-04-01T06:00', '2027-04-01'];
  for (const text of until) await world.run('alerts', 'silence', '--tenant', 'x', '--reason', 'x', '--until', text);
  // The first two are the same moment: the second adds no silence.
  expect(world.query('SELECT until FROM silences ORDER BY silence_id')).toHaveLength(2);
  expect(world.query('SELECT DISTINCT until FROM silences ORDER BY until')).toEqual([
    { until: '2027-04-01T00:00:00.000Z' },
    { until: '2027-04-01T06:00:00.000Z' },
  ]);
});

it('a plan for an alert covers its tenant up to a figure, and growth beyond it is told', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  const { out } = await world.run('alerts', 'plan', '--alert', id, '--up-to', '8999', ...IN_FORCE, '--json');
  expect(parseJson(out).last_90_days.notifications).toBe(0);
  const enough = await world.run('alerts', 'plan', '--alert', id, '--up-to', '9000', ...IN_FORCE, '--json');
  expect(parseJson(enough.out).last_90_days).toMatchObject({ notifications: 1 });
});

it.each([
  ['*', 1],
  ['sync_failed', 0],
  ['sync_failed:credentials', 0],
  ['sync_failed:service', 1],
])('a silence for the rule %s leaves %d of our own faults to be told', async (rule, told) => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  await world.run('alerts', 'silence', '--rule', rule, ...IN_FORCE);
  const { id, api_key_id } = FIRST;
  const { url } = world.sandbox;
  world.configure({
    workspaces: [{ id, base_url: url, embed_url: url, api_key_id, secret_key: 'sk_wrong_not_a_secret' }],
  });
  expect((await world.run('sync')).code).toBe(1);
  expect(notifications(world.ledgerPath).filter(({ payload }) => payload.cause === 'credentials')).toHaveLength(told);
});

it('the list of silences is narrowed to a workspace and cut by --limit', async () => {
  const world = await createWorld(FIRST, SECOND);
  await world.run('sync');
  const ids: string[] = [];
  for (const scope of [
    ['--workspace', 'ws-1'],
    ['--workspace', 'ws-2'],
    ['--tenant', 'acme'],
  ]) {
    const { out } = await world.run('alerts', 'silence', ...scope, ...IN_FORCE, '--json');
    ids.push(parseJson(out).silence_id);
  }
  const list = async (...argv: string[]) => {
    const { out, err } = await world.run('alerts', 'silences', ...argv, '--json');
    return { ids: parseJson(out).rows.map((silence: { silence_id: string }) => silence.silence_id), err };
  };
  expect(await list()).toEqual({ ids: ids.toReversed(), err: '' });
  expect(await list('--workspace', 'ws-1')).toEqual({ ids: [ids[2], ids[0]], err: '' });
  expect(await list('--limit', '1')).toEqual({ ids: [ids[2]], err: '2 more\n' });
  expect(await world.run('alerts', 'silences', '--workspace', 'ws-9')).toMatchObject({ code: 2 });
});

it('the list of silences fits 80 columns, says what each mutes, and cuts no id', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const long = 'trial-'.repeat(80);
  const id = await jumpOfGlobex(world);
  const orders = [
    ['silence', '--rule', 'drop', '--tenant', long],
    ['silence', '--alert', id],
    ['plan', '--tenant', 'a*', '--up-to', '500000'],
    ['silence', '--rule', '*'],
  ];
  const ids: string[] = [];
  for (const [command = '', ...options] of orders) {
    const { out } = await world.run('alerts', command, ...options, ...IN_FORCE, '--json');
    ids.push(parseJson(out).silence_id);
  }
  const { out } = await world.runOnTerminal(80, 'alerts', 'silences');
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  for (const silence of ids) expect(out).toContain(silence);
  const wide = (await world.runOnTerminal(200, 'alerts', 'silences')).out;
  expect(wide).toContain('jump of tenant globex in 2026-02, workspace ws-1');
  expect(wide).toContain('growth of tenant a* up to 500,000');
  expect(wide).toContain('all alerts');
  expect(wide).toContain(' 2026-03-01 ');
});

it('a recurring silence follows the clock of its workspace, or the one at the top', async () => {
  const world = await createWorld(FIRST);
  await jumpOfGlobex(world);
  world.configure({ timezone: 'Europe/Berlin', workspaces: [workspaceSettings(world.sandbox, FIRST)] });
  const zones = async (...options: string[]) => {
    const { out } = await world.run('alerts', 'silence', ...IN_FORCE, ...options, '--json');
    const id = parseJson(out).silence_id;
    return world.query(`SELECT time_zone FROM silences WHERE silence_id = '${id}'`);
  };
  expect(await zones('--hours', '22:00-06:00')).toEqual([{ time_zone: 'Europe/Berlin' }]);
  expect(await zones('--hours', '22:00-06:00', '--time-zone', 'UTC')).toEqual([{ time_zone: 'UTC' }]);
  expect(await zones()).toEqual([{ time_zone: null }]);
});

it('a silence may begin later and repeat, and is listed with when', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  const times = ['--weekdays', 'sat,sun', '--hours', '22:00-06:00', '--time-zone', 'Europe/Berlin'];
  const said = await world.run('alerts', 'silence', '--alert', id, ...IN_FORCE, '--from', '2026-02-21', ...times);
  expect(said.out).toContain('is active from 2026-02-21T00:00:00.000Z until 2026-03-01T00:00:00.000Z');
  // The jump was told on a Friday.
  expect(said.out).toContain('it would have muted nothing');
  const listed = await world.run('alerts', 'silences', '--json');
  expect(parseJson(listed.out).rows).toMatchObject([
    {
      ...{ begins_at: '2026-02-21T00:00:00.000Z', weekdays: 'sat,sun', hours: '22:00-06:00' },
      ...{ days_of_month: null, time_zone: 'Europe/Berlin' },
    },
  ]);
  expect((await world.run('alerts', 'silences')).out).toContain(
    'on sat,sun, 22:00-06:00 (Europe/Berlin) from 2026-02-21',
  );
});
