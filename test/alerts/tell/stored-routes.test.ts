import { expect, onTestFinished, test } from 'vitest';
import { checkRoutes } from '../../../src/commands/doctor/check-routes.ts';
import type { ChannelConfig, Config } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { SEVERITIES } from '../../../src/core/text/alert-words.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { deliverWaiting, manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
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
  const lines: { msg: string; channels?: string[] }[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  /** One whose configuration has these channels. */
  const having =
    (own: readonly string[]) =>
    (config: Config): Config => ({
      ...config,
      alerts: { channels: config.alerts.channels.filter(({ name }) => own.includes(name)) },
    });
  const process = (...own: string[]): Context => another(having(own), { logger });
  const daemon = async (...own: string[]): Promise<Context> => {
    const context = process(...own);
    await context.keepRoutes();
    return context;
  };
  /** A run of this process; whoever there is sends what waits. */
  const run = async (context: Context, credits: number, all: readonly Context[]) => {
    clock.advance(25 * 3_600_000);
    post('2026-03', credits);
    await context.sync(manualOrder());
    for (const one of all) await sweep(one);
  };
  const sweep = async (context: Context) => {
    await context.composeDue();
    await deliverWaiting(context);
  };
  return { ...fixture, heard, lines, having, process, daemon, run, sweep };
}

test('a run of a daemon that does not know a channel tells it all the same, and the one that knows it sends that', async () => {
  const { daemon, run, heard } = await world('hook', 'slack');
  const b = await daemon('hook');
  const a = await daemon('hook', 'slack');
  await run(b, 16_000, [b]);
  expect(heard).toEqual(['hook opened']);
  await deliverWaiting(a);
  expect(heard).toEqual(['hook opened', 'slack opened']);
  await run(b, 9_000, [b]);
  await run(b, 9_000, [b]);
  await deliverWaiting(a);
  expect(heard).toEqual(['hook opened', 'slack opened', 'hook closed', 'slack closed']);
});

test('of two daemons with other channels the last to start decides for both, and says so', async () => {
  const { daemon, run, sweep, heard, lines } = await world('old', 'new');
  const a = await daemon('old');
  await run(a, 16_000, [a]);
  expect(heard).toEqual(['old opened']);
  lines.length = 0;
  const b = await daemon('new');
  expect(lines).toMatchObject([{ channels: ['new'], before: { routes: ['old'], by: 'daemon' } }]);
  // Without any run, and also when the other one asks: it sends nothing to a channel that it does not know.
  await sweep(a);
  expect(heard).toEqual(['old opened']);
  await sweep(b);
  expect(heard).toEqual(['old opened', 'new opened']);
  await run(a, 40_000, [a, b]);
  expect(heard.filter((word) => word.startsWith('old'))).toEqual(['old opened']);
});

test('what waits for a channel that only another daemon knows is not sent once it is so no more', async () => {
  const { daemon, run, sweep, heard } = await world('old', 'new');
  const a = await daemon('old');
  await run(a, 16_000, []);
  const b = await daemon('new');
  await sweep(b);
  await run(b, 9_000, [b]);
  await run(b, 9_000, [b, a]);
  expect(heard).toEqual(['new opened', 'new closed']);
});

test('a daemon that starts once more with the same channels asks nobody and says nothing', async () => {
  const { daemon, run, sweep, lines, view } = await world('hook');
  const a = await daemon('hook');
  await run(a, 16_000, [a]);
  await sweep(a);
  lines.length = 0;
  await daemon('hook');
  expect(lines.map(({ msg }) => msg)).toEqual([]);
  expect(view().value('SELECT count(*) FROM alerts WHERE ask_at IS NOT NULL')).toBe(0n);
});

test('a command tells by the channels of the daemon, and by its own where there has been none', async () => {
  const { daemon, process, run, heard, context } = await world('hook', 'slack');
  await run(context, 16_000, [context]);
  const other = process('slack');
  await run(other, 16_000, [other]);
  expect(heard.sort()).toEqual(['hook opened', 'slack opened']);
  const renamed = process('hook');
  await run(renamed, 9_000, [renamed]);
  await run(renamed, 9_000, [renamed]);
  expect(heard.sort()).toEqual(['hook closed', 'hook opened', 'slack opened']);

  await daemon('slack');
  await run(process('hook'), 16_000, [process('hook')]);
  expect(heard.filter((word) => word.startsWith('hook'))).toEqual(['hook closed', 'hook opened']);
  await run(process('slack'), 16_000, [process('slack')]);
  expect(heard.filter((word) => word.startsWith('slack'))).toEqual(['slack opened', 'slack again']);
});

test('a ledger that has no routes yet gets those of the process that opens it, and nothing that is secret', async () => {
  const { process, context, view, run, heard } = await world('hook');
  await run(context, 16_000, []);
  const writer = await context.writer();
  await writer.close();
  const connection = openForWriting(context.config.ledger.path);
  connection.exec("DELETE FROM ledger_meta WHERE name = 'alert_routes'");
  connection.close();
  const next = process('hook');
  await run(next, 16_000, [next]);
  expect(heard).toEqual(['hook opened']);
  const stored = String(view().value("SELECT value FROM ledger_meta WHERE name = 'alert_routes'"));
  expect(JSON.parse(stored)).toMatchObject({ by: 'command', routes: [{ channel: 'hook', ...ROUTE }] });
  expect(stored).not.toContain('127.0.0.1');
});

test('doctor says that alerts are told by other channels than those of the configuration', async () => {
  const { daemon, config, having } = await world('hook', 'slack');
  await daemon('hook', 'slack');
  const isTold = ({ message }: { message: string }) => message.includes('not told by this configuration');
  expect(checkRoutes(config).filter(isTold)).toEqual([]);
  expect(checkRoutes(having(['hook'])(config)).filter(isTold)).toMatchObject([
    { status: 'warn', message: expect.stringMatching(/ by what a daemon on \S+ at 2026-\S+ had of: slack$/) },
  ]);
});
