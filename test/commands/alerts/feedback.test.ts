import { expect, it } from 'vitest';
import { createWorld, FIRST, parseJson } from '../world.ts';
import { jumpOfGlobex } from './jump-of-globex.ts';

it('keeps what people say of an alert, shows it, and the last word counts', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  const said = await world.run('alerts', 'feedback', id, 'false', '--by', 'Ada', '--note', 'a batch\nof theirs');
  expect(said.code).toBe(0);
  expect(said.out).toBe(
    `${id} labelled false by Ada\n  to prevent such alerts, add below \`alerts:\` of its workspace:\n    tenants:\n      - match: "globex"\n        ratio: 1285.8\n`,
  );
  const open = parseJson((await world.run('alerts', 'list', '--json')).out).alerts as { alert_id: string }[];
  expect(open.map(({ alert_id }) => alert_id)).not.toContain(id);
  expect((await world.run('alerts', 'list', '--all')).out).toMatch(new RegExp(`^ *false .*${id}`, 'm'));
  await world.run('alerts', 'feedback', id, 'real', '--by', 'Bob');
  const { feedback } = parseJson((await world.run('alerts', 'show', id, '--json')).out);
  expect(feedback).toMatchObject([
    { label: 'false', note: 'a batch\nof theirs', actor: 'Ada' },
    { label: 'real', note: null, actor: 'Bob' },
  ]);
  expect((await world.run('alerts', 'show', id)).out).toMatch(/labelled false by Ada: a batch\\u000aof theirs$/m);
});

it('offers the plan that would have muted what was expected, and that plan mutes it', async () => {
  const world = await createWorld(FIRST);
  const id = await jumpOfGlobex(world);
  const { would_have_muted } = parseJson((await world.run('alerts', 'feedback', id, 'expected', '--json')).out);
  expect(would_have_muted).toMatch(
    /^usage-ledger alerts plan --alert alert_\w+ --up-to \d+ --until 2026-05-08 --reason "\.\.\."$/,
  );
  const [, ...argv] = String(would_have_muted).replaceAll('"', '').split(' ');
  const { last_90_days } = parseJson((await world.run(...argv, '--json')).out);
  expect(last_90_days).toEqual({ notifications: 1, alerts: 1, rules: [{ rule: 'jump', notifications: 1 }] });
});

it.each([
  [['alert_none', 'real'], 1, 'there is no alert "alert_none"'],
  [['alert_none', 'maybe'], 2, 'Allowed choices are real, expected, false'],
])('refuses %j', async (argv, code, why) => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  expect(await world.run('alerts', 'feedback', ...argv)).toMatchObject({ code, err: expect.stringContaining(why) });
});
