import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createWorld, FIRST, parseJson, type World, workspaceSettings } from '../commands/world.ts';
import { SECRET, WebhookReceiver } from './webhook-receiver.ts';

/** A world that was read once, with an outlet that was not started. */
async function outletWorld(settings: object = {}): Promise<{ world: World; double: WebhookReceiver }> {
  const double = await new WebhookReceiver().start();
  const world = await createWorld(FIRST);
  const outlet = { name: 'billing', type: 'webhook', url: double.url, allow_private: true, secret: SECRET };
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    outlets: [{ ...outlet, from_period: '2026-01', ...settings }],
  });
  await world.run('sync');
  return { world, double };
}

test('begin previews the events by month and sends nothing', async () => {
  const { world, double } = await outletWorld();
  expect((await world.run('outlets', 'push')).code).toBe(1);
  const { code, out } = await world.run('outlets', 'start', 'billing');
  expect(code).toBe(0);
  expect(out).toMatch(/2026-01 +2 +9,007,199,254,741,993 +0 +0\n2026-02 +2 +9,007,199,254,745,993/);
  expect(out).toContain('Nothing sent. To start, run:\n  usage-ledger outlets start billing --from 2026-01 --yes');
  expect(double.counted).toEqual([]);
});

test('after begin and push the receiver has all events; status counts the exceptions', async () => {
  const { world, double } = await outletWorld();
  double.refuses = ({ subject, data }) => subject === 'acme' && data.period === '2026-02';
  expect((await world.run('outlets', 'start', 'billing', '--yes', '--by', 'Ada')).code).toBe(0);
  expect((await world.run('outlets', 'push')).out).toBe('billing: 3 events sent\n');
  expect(double.sums()).toEqual({
    'acme 2026-01': 1000n,
    'globex 2026-01': 9007199254740993n,
    'globex 2026-02': 9007199254740993n,
  });
  const { outlets } = parseJson((await world.run('outlets', 'status', '--json')).out);
  expect(outlets).toMatchObject([{ name: 'billing', state: 'sending', waiting: 0, refused: 1, late: 0, held: 0 }]);
  expect((await world.run('status')).out).toContain('outlet  billing: 1 event (5,000 credits) refused');
  expect((await world.run('outlets', 'check', '2026-02')).out).toBe(
    'billing: cannot be compared, its receiver has no query API\n',
  );
});

test('a refused event is settled with a note, or sent again', async () => {
  const { world, double } = await outletWorld();
  double.refuses = ({ subject }) => subject === 'acme';
  await world.run('outlets', 'start', 'billing', '--yes');
  await world.run('outlets', 'push');
  expect((await world.run('outlets', 'settle', 'billing')).out).toMatch(/refused.*acme.*HTTP 400 unknown customer/);
  const note = ['--period', '2026-01', '--note', 'credit note 12', '--by', 'Ada'];
  expect((await world.run('outlets', 'settle', 'billing', ...note)).out).toBe('billing: 1 event settled\n');
  double.refuses = () => false;
  expect((await world.run('outlets', 'settle', 'billing', '--resend')).out).toContain('1 event will be sent again');
  await world.run('outlets', 'push');
  expect(double.sums()).toMatchObject({ 'acme 2026-02': 5000n });
  expect(double.sums()).not.toHaveProperty('acme 2026-01');
  expect(world.query('SELECT state, settled_by, note FROM finance_outlet_events')).toEqual([
    { state: 'settled', settled_by: 'Ada', note: 'credit note 12' },
  ]);
});

test('a paused outlet sends nothing until it is resumed', async () => {
  const { world, double } = await outletWorld();
  await world.run('outlets', 'start', 'billing', '--yes');
  await world.run('outlets', 'pause', 'billing', '--note', 'price change', '--by', 'Ada');
  expect(await world.run('outlets', 'push')).toMatchObject({
    code: 1,
    out: 'billing: 0 events sent; paused by Ada: price change\n',
  });
  await world.run('outlets', 'resume', 'billing');
  expect((await world.run('outlets', 'push')).code).toBe(0);
  expect(double.counted).toHaveLength(4);
});

test('doctor probes the receiver without sending anything, and reports that it is not started', async () => {
  const { world, double } = await outletWorld();
  const { checks } = parseJson((await world.run('doctor', '--json')).out);
  const ours = checks.filter(({ check }: { check: string }) => check === 'outlets');
  expect(ours.map(({ status, message }: { status: string; message: string }) => [status, message])).toEqual([
    ['ok', 'the receiver answers and accepts the credentials'],
    ['warn', 'not started: nothing is sent'],
  ]);
  expect([double.counted, double.requests]).toEqual([[], 1]);
});

test('doctor probes the receiver even without a ledger', async () => {
  const { world } = await outletWorld({ secret: 'another one' });
  rmSync(world.ledgerPath);
  const { code, out } = await world.run('doctor');
  expect([code, out]).toEqual([4, expect.stringMatching(/^FAIL +outlets billing: .*HTTP 401 bad signature/m)]);
});

test('refused credentials are reported before an outlet begins', async () => {
  const { world } = await outletWorld({ secret: 'another one' });
  const { code, err } = await world.run('outlets', 'start', 'billing', '--yes');
  expect([code, err]).toEqual([1, expect.stringContaining('HTTP 401 bad signature')]);
});
