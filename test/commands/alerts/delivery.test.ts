import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HOSTILE_NAMES } from '../../alerts/channels/hostile.ts';
import { type Receiver, startReceiver } from '../../alerts/channels/receiver.ts';
import { countByState } from '../../support/messages.ts';
import { createWorld, FIRST, parseJson, row, type World, workspaceSettings } from '../world.ts';

/** A world whose only channel is a receiver that answers with this status. */
async function worldWith(answer: (response: ServerResponse) => void): Promise<{ world: World; receiver: Receiver }> {
  const receiver = await startReceiver(answer);
  onTestFinished(receiver.close);
  const world = await createWorld(FIRST);
  const hook = { type: 'webhook', name: 'hook', url: `${receiver.url}?token=tok-en-of-the-hook`, allow_private: true };
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    alerts: { channels: [hook, { type: 'log', name: 'journal' }] },
  });
  return { world, receiver };
}

/** Lets globex jump, so that a notification is sent by `sync`. */
async function syncWithJump(world: World): Promise<void> {
  await world.run('sync');
  world.sandbox
    .workspace('ws-1')
    .set({ tenantId: 'globex', period: '2026-02', credits: 20_000_000_000_000_000n, requests: 10 });
  expect((await world.run('sync')).code).toBe(0);
}

describe('alerts test', () => {
  it('sends a message that is marked as a test, shows the answer, and needs no ledger', async () => {
    const { world, receiver } = await worldWith((response) => response.writeHead(202).end());
    const { code, out } = await world.run('alerts', 'test', 'hook');
    expect(code).toBe(0);
    expect(out).toMatch(/^hook \(webhook\): delivered in \d+ ms: HTTP 202\n$/);
    expect(JSON.parse(receiver.received[0]?.body.toString() ?? '')).toMatchObject({ type: 'test', channel: 'hook' });
    expect(receiver.received[0]?.headers['webhook-id']).toMatch(/^msg_test_/);
    expect((await world.run('alerts', 'list')).err).toContain('there is no ledger');
    // The only one of its type.
    expect(await world.run('alerts', 'test', 'webhook')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^hook /),
    });
  });

  it.each([
    [400, 'HTTP 400', 'correct the channel'],
    [410, 'HTTP 410: the receiver wants no more notifications', 'a new address'],
    [503, 'HTTP 503', 'three days'],
  ])('ends with 1 for %i, and says what would become of a notification', async (status, answer, remedy) => {
    const { world } = await worldWith((response) => response.writeHead(status).end());
    const { code, out } = await world.run('alerts', 'test', 'hook');
    expect(code).toBe(1);
    expect(out).toContain(`not delivered in `);
    expect(out).toContain(answer);
    expect(out).toContain(remedy);
    const json = parseJson((await world.run('alerts', 'test', 'hook', '--json')).out);
    expect(json).toMatchObject({ channel: 'hook', type: 'webhook', answer, remedy: expect.stringContaining(remedy) });
  });

  it('shows that an internal address is refused, with the setting that allows it', async () => {
    const world = await createWorld(FIRST);
    // A number is a name to us, and an address to the resolver, which needs no network to say so.
    const mail = { type: 'email', name: 'mail', host: '2130706433', from: 'a@example.com', to: ['b@example.com'] };
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], alerts: { channels: [mail] } });
    const { code, out } = await world.run('alerts', 'test', 'mail');
    expect(code).toBe(1);
    expect(out).toMatch(/not public \(loopback\).*allow_private: true/);
    const doctor = await world.run('doctor');
    expect(doctor.code).toBe(4);
    expect(doctor.out).toMatch(/^FAIL {2}channel mail: "2130706433".*not public[^\n]*\n.*allow_private: true/m);
  });

  it('refuses a channel that is not configured with exit code 2, and names the ones that are', async () => {
    const { world } = await worldWith((response) => response.end());
    const { code, err } = await world.run('alerts', 'test', 'pager');
    expect(code).toBe(2);
    expect(err).toContain('"hook", "journal"');
  });
});

it('what a sync could not deliver is sent by the next one that comes after the wait, without a daemon', async () => {
  let status = 503;
  const { world, receiver } = await worldWith((response) => response.writeHead(status).end());
  await world.run('sync');
  world.sandbox
    .workspace('ws-1')
    .set({ tenantId: 'globex', period: '2026-02', credits: 20_000_000_000_000_000n, requests: 10 });
  const first = await world.run('sync');
  expect(first.err).toContain('1 notification left for the daemon or the next sync; 0 given up');
  status = 200;
  world.clock.nowMs += 60_000;
  expect((await world.run('sync')).err).toBe('');
  expect(receiver.received.map(({ body }) => JSON.parse(body.toString()).event)).toEqual(['opened', 'opened']);
  expect(countByState(world.ledgerPath, 'hook')).toEqual({ delivered: 1 });
});

describe('alerts replay', () => {
  it('lists the dead, makes them due again, and enables their channel', async () => {
    const { world } = await worldWith((response) => response.writeHead(410).end());
    await syncWithJump(world);
    const list = await world.run('alerts', 'replay');
    expect(list.out).toMatch(/msg_[0-9a-f]{32}.*hook.*HTTP 410/);
    expect((await world.run('status')).out).toContain('channel hook disabled since 2026-02-20T12:00:00.000Z: HTTP 410');
    expect((await world.run('doctor')).out).toMatch(/^warn {2}channel hook: disabled since .*\n.*alerts replay/m);

    const { code, out } = await world.run('alerts', 'replay', '--all-dead');
    expect(code).toBe(0);
    expect(out).toBe(
      '1 notification is due again; the running daemon sends due notifications\n  channel hook enabled again\n',
    );
    expect(countByState(world.ledgerPath, 'hook')).toEqual({ due: 1 });
    expect((await world.run('alerts', 'replay')).err).toContain('no undelivered messages');
    expect((await world.run('status')).out).not.toContain('is disabled');
  });

  it('takes single ids, and changes nothing when one of them is not dead', async () => {
    const { world } = await worldWith((response) => response.writeHead(400).end());
    await syncWithJump(world);
    const [{ notification_id: id }] = parseJson((await world.run('alerts', 'replay', '--json')).out).rows;
    const wrong = await world.run('alerts', 'replay', id, 'msg_none');
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('no message that was given up has the id msg_none');
    const { out } = await world.run('alerts', 'replay', id, '--json');
    expect(parseJson(out)).toMatchObject({ replayed: [{ notification_id: id, channel: 'hook' }], enabled: [] });
  });

  it('leaves dead what is for a channel that is no longer configured', async () => {
    const { world } = await worldWith((response) => response.writeHead(400).end());
    await syncWithJump(world);
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)] });
    const { out } = await world.run('alerts', 'replay', '--all-dead');
    expect(out).toMatch(/^0 notifications are due again.*\n {2}msg_\w+ stays dead: channel hook is not configured\n$/);
  });

  it('refuses ids together with --all-dead', async () => {
    const { world } = await worldWith((response) => response.end());
    expect((await world.run('alerts', 'replay', 'msg_1', '--all-dead')).code).toBe(2);
  });
});

describe('the terminal', () => {
  it('is safe from the names of tenants in every listing of alerts', async () => {
    const usage = HOSTILE_NAMES.flatMap((tenant) => [
      row(tenant, '2025-12', 5000),
      row(tenant, '2026-01', 5000),
      row(tenant, '2026-02', 5000),
    ]);
    const world = await createWorld({ ...FIRST, usage });
    await world.run('sync');
    const [first = ''] = HOSTILE_NAMES;
    for (const tenantId of HOSTILE_NAMES) {
      world.sandbox.workspace('ws-1').set({ tenantId, period: '2026-02', credits: 50_000, requests: 10 });
    }
    const outputs = [await world.run('sync'), await world.run('alerts', 'list'), await world.run('tenant', first)];
    for (const { code, out, err } of outputs) {
      expect(code).toBe(0);
      expect(out).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(err).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    }
    expect(outputs[1]?.out).toContain('\\u001b[31m');
  });
});

describe('a digest', () => {
  it('waits, is shown as waiting and not as overdue, and is made and sent by the first sync after its hour', async () => {
    const receiver = await startReceiver((response) => response.writeHead(204).end());
    onTestFinished(receiver.close);
    const world = await worldWithWarning(receiver.url);
    const quiet = await world.run('sync', '--json');
    expect(parseJson(quiet.out).notifications).toEqual({ delivered: 0, pending: 0, dead: 0 });
    expect(receiver.received).toEqual([]);

    const { alerts } = parseJson((await world.run('alerts', 'list', '--json')).out);
    const { alert_id } = alerts.find(({ tenant_id }: { tenant_id: string }) => tenant_id === 'new');
    expect((await world.run('alerts', 'show', alert_id)).out).toMatch(
      /^daily {2}opened: waiting for the daily summary at 2026-02-21 07:00 UTC$/m,
    );
    expect((await world.run('alerts', 'explain', alert_id)).code).toBe(0);
    expect((await world.run('status')).out).toContain('unsent  0 waiting, 0 given up, 1 for the daily summary\n');
    expect(parseJson((await world.run('status', '--json')).out).outbox).toEqual({ pending: 0, held: 1, dead: 0 });
    expect((await world.run('alerts', 'replay')).err).toContain('no undelivered messages');

    world.clock.nowMs = Date.UTC(2026, 1, 21, 7, 3);
    expect((await world.run('sync', '--dry-run')).code).toBe(0);
    expect(receiver.received).toEqual([]);
    expect((await world.run('sync')).code).toBe(0);
    expect((await world.run('sync')).code).toBe(0);
    expect(receiver.received.map(({ body }) => JSON.parse(body.toString()).summary)).toEqual([
      'Daily summary of 2026-02-21 07:00 UTC: 1 alert open.',
    ]);
    const digest = JSON.parse(receiver.received[0]?.body.toString() ?? '').notification_id;
    expect((await world.run('alerts', 'show', alert_id)).out).toMatch(
      new RegExp(`daily {2}opened: delivered in the daily summary {2}${digest}$`, 'm'),
    );
  });

  it('that is refused is left to a replay, and sync says so', async () => {
    const receiver = await startReceiver((response) => response.writeHead(400).end());
    onTestFinished(receiver.close);
    const world = await worldWithWarning(receiver.url);
    await world.run('sync');
    world.clock.nowMs = Date.UTC(2026, 1, 21, 7, 3);
    expect((await world.run('sync')).err).toContain('1 given up');
    expect((await world.run('alerts', 'replay')).out).toMatch(/msg_[0-9a-f]{32}.*daily.*HTTP 400/);
    expect((await world.run('alerts', 'replay', '--all-dead')).out).toContain('1 notification is due again');
    expect(countByState(world.ledgerPath, 'daily')).toEqual({ held: 1 });
  });
});

/** A world whose next sync finds a warning, with one channel that is told of it in the daily summary of 07:00. */
async function worldWithWarning(url: string) {
  const world = await createWorld(FIRST);
  const hook = { type: 'webhook', name: 'daily', url, allow_private: true, digest_hour: 7 };
  world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], alerts: { channels: [hook] } });
  await world.run('sync');
  world.sandbox.workspace('ws-1').set({ tenantId: 'new', period: '2026-02', credits: 5000, requests: 10 });
  return world;
}
