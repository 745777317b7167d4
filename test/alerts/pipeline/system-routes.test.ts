import { expect, onTestFinished, test } from 'vitest';
import type { ChannelConfig } from '../../../src/config/channel-types.ts';
import type { Config } from '../../../src/config/types.ts';
import { SEVERITIES } from '../../../src/core/text/alert-words.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { countByState, deliverWaiting } from '../../support/messages.ts';
import { manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import { startReceiver } from '../channels/receiver.ts';

const ROUTE = { severities: SEVERITIES, rules: ['jump' as const], digestHour: null, followUps: 'at_once' as const };

/** A workspace that has been read, with a tenant that may jump, and receivers that keep what they get. */
async function world(...names: string[]) {
  const heard: string[] = [];
  const receivers = await Promise.all(
    names.map(async (name): Promise<ChannelConfig> => {
      const receiver = await startReceiver((response) => {
        const { event, summary } = JSON.parse(String(receiver.received.at(-1)?.body));
        heard.push(`${name} ${event ?? summary}`);
        response.writeHead(204).end();
      });
      onTestFinished(receiver.close);
      const hook = { type: 'webhook' as const, name, url: receiver.url, secrets: [], allowPrivate: true };
      return { ...hook, timeoutMs: 10_000, route: ROUTE };
    }),
  );
  const fixture = await startFixture({ channels: receivers });
  const { upstream, sync, another, clock } = fixture;
  const post = (period: string, credits: number) => upstream.set({ tenantId: 'a', period, credits, requests: 1 });
  post('2026-01', 10_000);
  post('2026-02', 10_000);
  post('2026-03', 10_000);
  await sync();
  /** One whose configuration has these channels. */
  const having =
    (own: readonly string[]) =>
    (config: Config): Config => ({
      ...config,
      alerts: { channels: config.alerts.channels.filter(({ name }) => own.includes(name)) },
    });
  const process = (...own: string[]): Context => another(having(own));
  const daemon = async (...own: string[]): Promise<Context> => {
    const context = process(...own);
    await context.evaluateAll();
    return context;
  };
  /** A run of this process; all of these then ask and send. */
  const run = async (context: Context, credits: number, all: readonly Context[]) => {
    clock.advance(25 * 3_600_000);
    post('2026-03', credits);
    await context.sync(manualOrder());
    for (const one of all) await sweep(one);
  };
  const sweep = async (context: Context) => {
    await context.compose();
    await deliverWaiting(context);
  };
  return { ...fixture, heard, process, daemon, run, sweep };
}

test('a daemon that starts with new channels sends them the open alerts, without a run', async () => {
  const { daemon, run, sweep, heard } = await world('old', 'new');
  const before = await daemon('old');
  await run(before, 16_000, [before]);
  expect(heard).toEqual(['old opened']);
  const after = await daemon('new');
  await sweep(after);
  expect(heard).toEqual(['old opened', 'new opened']);
  await run(after, 9_000, [after]);
  await run(after, 9_000, [after]);
  expect(heard).toEqual(['old opened', 'new opened', 'new closed']);
  // Back in the configuration, it hears of the end, too, and nothing twice.
  const both = await daemon('old', 'new');
  await sweep(both);
  expect(heard).toEqual(['old opened', 'new opened', 'new closed', 'old closed']);
});

test('a notification for a removed channel is withdrawn, and decided again once the channel is back', async () => {
  const { daemon, run, sweep, heard, view } = await world('gone', 'kept');
  const before = await daemon('gone', 'kept');
  await run(before, 16_000, []);
  const without = await daemon('kept');
  await sweep(without);
  expect(heard).toEqual(['kept opened']);
  expect(countByState(view(), 'gone')).toEqual({});
  const again = await daemon('gone', 'kept');
  await sweep(again);
  await sweep(again);
  expect(heard).toEqual(['kept opened', 'gone opened']);
});

test('an alert about a removed channel ends when the daemon starts', async () => {
  const { daemon, context, sweep, view } = await world('hook');
  await context.reportJobHealth({ job: 'channel', of: 'former', detail: 'HTTP 500' });
  await context.reportJobHealth({ job: 'channel', of: 'hook', detail: 'HTTP 500' });
  await sweep(await daemon('hook'));
  expect(view().rows("SELECT cause, state FROM alerts WHERE rule = 'job_failed' ORDER BY cause")).toEqual([
    { cause: 'channel:former', state: 'resolved' },
    { cause: 'channel:hook', state: 'firing' },
  ]);
});

test('a command beside a daemon notifies the channels of its own configuration, and nothing is sent twice', async () => {
  const { daemon, process, run, sweep, heard } = await world('hook', 'slack');
  const own = await daemon('hook');
  const command = process('slack');
  await run(command, 16_000, [command]);
  expect(heard).toEqual(['slack opened']);
  await run(own, 16_000, [own]);
  await sweep(command);
  await sweep(own);
  expect(heard).toEqual(['slack opened', 'hook opened']);
  await run(own, 9_000, [own]);
  await run(own, 9_000, [own]);
  expect(heard).toEqual(['slack opened', 'hook opened', 'hook closed']);
  // Its end reaches who has heard its beginning as soon as somebody asks who can send there.
  await run(command, 9_000, [command, own]);
  expect(heard).toEqual(['slack opened', 'hook opened', 'hook closed', 'slack closed']);
});
