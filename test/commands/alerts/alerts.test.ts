import { expect, it } from 'vitest';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { notifications } from '../../support/messages.ts';
import { createWorld, FIRST, parseJson, type World } from '../world.ts';
import { jumpOfGlobex } from './jump-of-globex.ts';

const UNTIL = '2026-03-01';

it('shows and explains an alert, in words and as JSON', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);

  const explained = await world.run('alerts', 'explain', id);
  expect(explained.out).toContain('globex (ws-1): 9,000 credits');
  expect(explained.out).toContain('Limit       1,007 credits: 7 (2026-01) + 1,000');
  const npx = { PATH: process.env.PATH, npm_command: 'exec' };
  expect((await world.runWith(npx, 'alerts', 'explain', id)).out).toContain(`\n  npx usage-ledger alerts ack ${id}`);
  expect(explained.out).toContain(`usage-ledger alerts ack ${id} --note`);
  const { notified, now } = parseJson((await world.run('alerts', 'explain', id, '--json')).out);
  expect(notified).toMatchObject(now);
  expect(notified.evidence).toMatchObject({
    threshold: { credits: 1007, baseline_credits: 7, baseline_period: '2026-01', ratio: 1.5 },
    split: { volume_credits: 7, intensity_credits: 8986 },
    entry_count: 3,
  });
  expect(notified.evidence).toEqual(payloads(world)[0]?.evidence);

  const shown = parseJson((await world.run('alerts', 'show', id, '--json')).out);
  expect(shown.transitions).toMatchObject([{ change: 'fired', actor: 'run', muted_because: null }]);
  expect(shown.messages).toMatchObject([{ channel: 'log', event: 'opened', outcome: 'delivered', attempts: 1 }]);
  expect(shown.pending).toEqual([]);
  expect((await world.run('alerts', 'show', id)).out).toContain('log  opened: delivered  msg_');
  expect((await world.run('alerts', 'explain', 'alert_none')).code).toBe(1);
});

it('acknowledges a firing alert once, by a name and with a note', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);

  const { code, out } = await world.run('alerts', 'ack', id, '--by', 'Ada', '--note', 'load test', '--json');
  expect(code).toBe(0);
  expect(parseJson(out)).toMatchObject({
    alert: { state: 'acknowledged' },
    transitions: [{ change: 'fired' }, { change: 'acknowledged', actor: 'Ada', note: 'load test' }],
  });
  const again = await world.run('alerts', 'ack', id);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is acknowledged') });
});

it.each([
  ['a silence for the tenant', ['silence', '--tenant', 'glo*'], 4],
  ['a silence for another rule', ['silence', '--rule', 'drop'], 0],
  ['a silence for another period', ['silence', '--period', '2026-03'], 0],
  ['a plan', ['plan', '--tenant', 'globex'], 1],
  ['a plan that the credits exceed', ['plan', '--tenant', 'globex', '--up-to', '8999'], 0],
])('%s mutes what it covers: recorded and listed, not told', async (_, argv, muted) => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const silenced = await world.run('alerts', ...argv, '--until', UNTIL, '--reason', 'expected', '--json');
  const { silence_id } = parseJson(silenced.out);
  const id = await jumpOfGlobex(world);

  expect(payloads(world)).toHaveLength(muted === 0 ? 1 : 0);
  const list = parseJson((await world.run('alerts', 'list', '--json')).out).alerts;
  expect(list).toContainEqual(
    expect.objectContaining({ alert_id: id, muted_because: muted === 0 ? null : `silence:${silence_id}` }),
  );
  // The counter of globex fell and two settled months changed, which a silence for the tenant mutes and a plan does not.
  const { rows: silences } = parseJson((await world.run('alerts', 'silences', '--json')).out);
  expect(silences).toMatchObject([{ silence_id, reason: 'expected', muted }]);
});

it('a silence that was ended mutes nothing any more', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const { out } = await world.run('alerts', 'silence', '--until', UNTIL, '--reason', 'x', '--json');
  const id = String(parseJson(out).silence_id);
  expect((await world.run('alerts', 'unsilence', id)).code).toBe(0);
  // Asked again, it is ended already; another person is told that nothing mutes.
  expect((await world.run('alerts', 'unsilence', id)).code).toBe(0);
  expect((await world.run('alerts', 'unsilence', id, '--by', 'Bob')).code).toBe(1);
  await jumpOfGlobex(world);

  expect(payloads(world)).toHaveLength(1);
});

it('lists what each alert says and since when, with what mutes it, whole in pipes and in 80 columns', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const silenced = await world.run(
    'alerts',
    'silence',
    '--tenant',
    'glo*',
    '--until',
    UNTIL,
    '--reason',
    'x',
    '--json',
  );
  const { silence_id } = parseJson(silenced.out);
  const id = await jumpOfGlobex(world);

  const says = 'globex \\(ws-1\\): 9,000 credits in February, limit 1,007. January: 7.';
  const piped = (await world.run('alerts', '--rule', 'jump')).out;
  expect(piped).toMatch(
    new RegExp(`muted +2026-02-\\S+ \\S+ +jump happened .* ${id} +muted by ${silence_id} +${says}`),
  );
  const screen = (await world.runOnTerminal(80, 'alerts', '--rule', 'jump')).out.split('\n');
  expect(screen[0]).toMatch(/^muted {2}2026-02-\d\d {2}globex: 9,000 credits in February, limit 1,007. January: 7$/);
  expect(screen.slice(1, 3).map((line) => line.trim())).toEqual([
    `${id}  difference: 8,993 credits`,
    `muted by ${silence_id}`,
  ]);
  const explained = (await world.run('alerts', 'explain', id)).out;
  expect(explained).toContain(`not sent: muted by ${silence_id}`);
  expect(explained).toContain(`usage-ledger alerts unsilence ${silence_id}`);
  expect(explained).not.toContain('alerts ack');
});

it('lists below an alert those that it explains', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  world.sandbox.workspace('ws-1').set({ tenantId: 'initech', period: '2026-02', credits: 5000, requests: 10 });
  await world.run('sync');
  const list = async () => parseJson((await world.run('alerts', 'list', '--json')).out).alerts;
  const ids = (await list()).map(({ alert_id }: { alert_id: string }) => alert_id);
  expect(ids[0]).toBe(id);
  const last = ids.at(-1);
  expect(last).not.toBe(id);
  const ledger = openForWriting(world.ledgerPath);
  ledger
    .prepare(
      `INSERT INTO alert_transitions (alert_key, revision, change, state, level, at, actor, silent, silent_because)
       SELECT alert_key, revision + 1, 'grown', state, level, last_changed_at, 'run', 1, ? FROM alerts WHERE alert_id = ?`,
    )
    .run(`inhibited:${last}`, id);
  ledger.prepare('UPDATE alerts SET revision = revision + 1 WHERE alert_id = ?').run(id);
  ledger.close();

  expect((await list()).slice(-2)).toMatchObject([{ alert_id: last }, { alert_id: id }]);
  expect((await world.run('alerts', 'explain', id)).out).toContain(`usage-ledger alerts explain ${last}`);
});

/** What was told of globex's jump. */
function payloads(world: World): Record<string, unknown>[] {
  const told = notifications(world.ledgerPath).map(({ text }) => parseJson(text));
  return told.filter(({ rule, tenant_id }) => rule === 'jump' && tenant_id === 'globex');
}
