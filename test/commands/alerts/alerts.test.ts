import { expect, it } from 'vitest';
import { notifications } from '../../support/messages.ts';
import { createWorld, FIRST, parseJson, type World } from '../world.ts';
import { jumpOfGlobex } from './jump-of-globex.ts';

const UNTIL = '2026-03-01';

it('shows and explains an alert, in words and as JSON', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);

  const explained = await world.run('alerts', 'explain', id);
  expect(explained.out).toContain('ws-1: globex used 9,000 credits');
  expect(explained.out).toContain('Limit       1,007 credits: 7 (2026-01) + 1,000');
  expect(explained.out).toContain(`usage-ledger alerts ack ${id} --note`);
  const { told, now } = parseJson((await world.run('alerts', 'explain', id, '--json')).out);
  expect(told).toMatchObject(now);
  expect(told.evidence).toMatchObject({
    threshold: { credits: 1007, baseline_credits: 7, baseline_period: '2026-01', ratio: 1.5 },
    split: { volume_credits: 7, intensity_credits: 8986 },
    entry_count: 3,
  });
  expect(told.evidence).toEqual(payloads(world)[0]?.evidence);

  const shown = parseJson((await world.run('alerts', 'show', id, '--json')).out);
  expect(shown.transitions).toMatchObject([{ change: 'fired', actor: 'run', muted_because: null }]);
  expect(shown.messages).toMatchObject([{ channel: 'log', event: 'opened', outcome: 'delivered', attempts: 1 }]);
  expect(shown.owed).toEqual([]);
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
  const { silences } = parseJson((await world.run('alerts', 'silences', '--json')).out);
  expect(silences).toMatchObject([{ silence_id, reason: 'expected', muted }]);
});

it('a silence that was ended mutes nothing any more', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const { out } = await world.run('alerts', 'silence', '--until', UNTIL, '--reason', 'x', '--json');
  const id = String(parseJson(out).silence_id);
  expect((await world.run('alerts', 'unsilence', id)).code).toBe(0);
  expect((await world.run('alerts', 'unsilence', id)).code).toBe(1);
  await jumpOfGlobex(world);

  expect(payloads(world)).toHaveLength(1);
});

/** What was told of globex's jump. */
function payloads(world: World): Record<string, unknown>[] {
  const told = notifications(world.ledgerPath).map(({ text }) => parseJson(text));
  return told.filter(({ rule, tenant_id }) => rule === 'jump' && tenant_id === 'globex');
}
