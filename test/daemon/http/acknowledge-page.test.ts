import { expect, test } from 'vitest';
import { acknowledgeAlert } from '../../../src/alerts/actions.ts';
import { GONE, JUMPS, ROUTES, TAKEN, world } from '../../alerts/outbox/receivers-scene.ts';
import { messages } from '../../support/messages.ts';
import { serve } from './served.ts';

const KEY = 'a key of this test';
const PUBLIC = 'https://ledger.example.com';

/** The pages of a ledger in which a tenant jumps, and the link that the channel got. */
async function scene() {
  const scene = await world();
  const { connection, state, look, deliver } = scene;
  state.channels = ROUTES.map((route) => ({ ...route, publicUrl: PUBLIC, linkKey: KEY }));
  look(JUMPS);
  deliver(TAKEN);
  const linkOf = (index: number): string => messages(connection)[index]?.payload.acknowledge_link;
  const acknowledging = {
    connection,
    linkKey: KEY,
    acknowledge: async (request: Parameters<typeof acknowledgeAlert>[1]) => acknowledgeAlert(connection, request),
    clock: { now: () => state.nowMs },
    timezone: () => 'UTC',
  };
  const server = await serve({ acknowledging });
  const open = async (link: string, init: RequestInit = {}) => {
    const answer = await fetch(link.replace(PUBLIC, server.url), { redirect: 'manual', ...init });
    return { status: answer.status, headers: answer.headers, body: await answer.text() };
  };
  const post = (link: string, form: Record<string, string>) =>
    open(link, { method: 'POST', body: new URLSearchParams(form) });
  const stateOf = () => connection.prepare('SELECT state FROM alerts').pluck().get();
  return { ...scene, linkOf, open, post, stateOf };
}

test('a signed link shows its alert and a button without a token; opening it changes nothing', async () => {
  const { linkOf, open, stateOf } = await scene();
  const link = linkOf(0);
  expect(link).toMatch(/^https:\/\/ledger\.example\.com\/acknowledge\/alert_\w{20}\/1\/a\/[\w-]{32}$/);
  for (const method of ['GET', 'HEAD', 'GET']) expect((await open(link, { method })).status).toBe(200);
  const { body, headers } = await open(link);
  expect(body).toContain('acme (ws-1): 16,000');
  expect(body).toContain('<button class="main" type="submit">Acknowledge</button>');
  // The one script is the console's own.
  expect(body.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/ src="\/console\/\w+\/console\.js"/)]);
  expect(body).not.toMatch(/<a |form_token/);
  expect(headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(headers.get('cache-control')).toBe('no-store');
  expect(stateOf()).toBe('firing');
});

test('posting acknowledges, and the history names the person and the channel of the link', async () => {
  const { connection, linkOf, open, post, stateOf } = await scene();
  const link = linkOf(0);
  const nameless = await post(link, { name: ' ' });
  expect([nameless.status, stateOf()]).toEqual([400, 'firing']);
  expect(nameless.body).toContain('Enter your name.');
  expect((await post(link, { name: 'Ada <b>', note: 'load test' })).status).toBe(303);
  expect(stateOf()).toBe('acknowledged');
  const last = 'SELECT actor, note FROM alert_transitions ORDER BY revision DESC LIMIT 1';
  expect(connection.prepare(last).get()).toEqual({ actor: 'Ada <b> (link sent to a)', note: 'load test' });
  const { body } = await open(link);
  expect(body).toContain('Acknowledged by Ada &lt;b> (link sent to a)');
  expect(body).not.toContain('<button');
  expect((await post(link, { name: 'Bo' })).status).toBe(303);
  expect(connection.prepare(last).get()).toMatchObject({ actor: 'Ada <b> (link sent to a)' });
});

test('a modified link is rejected, and one with an ended alert shows that it has expired', async () => {
  const { linkOf, open, post, look, deliver, pass, stateOf } = await scene();
  const link = linkOf(0);
  for (const changed of [
    link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    link.replace('/1/a/', '/2/a/'),
    link.replace('/a/', '/b/'),
  ]) {
    expect((await open(changed)).status).toBe(404);
    expect((await post(changed, { name: 'Ada' })).status).toBe(404);
  }
  expect((await open(`${PUBLIC}/report`)).status).toBe(401);
  for (const judgement of [GONE, GONE]) look(judgement);
  deliver(TAKEN);
  expect((await open(link)).status).toBe(410);
  expect((await post(link, { name: 'Ada' })).status).toBe(410);
  expect(linkOf(1)).toBeNull();
  // It begins anew: that is another matter.
  pass(2 * 86_400_000);
  look(JUMPS);
  deliver(TAKEN);
  expect(stateOf()).toBe('firing');
  expect((await open(link)).status).toBe(410);
  expect((await open(linkOf(2))).status).toBe(200);
});

test('an address that opens links too often gets a page that says when to try again', async () => {
  const { linkOf, open } = await scene();
  const statuses: number[] = [];
  for (let time = 0; time < 120; time += 1) statuses.push((await open(linkOf(0), { method: 'HEAD' })).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { status, headers, body } = await open(linkOf(0));
  expect([status, headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(body).toContain('This address has opened more than 120 links within a minute. Try again in ');
});
