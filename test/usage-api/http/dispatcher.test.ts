import { Agent, MockAgent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { Context } from '../../../src/wiring/context.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { rejection } from '../../support/rejection.ts';
import { manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';
import { MemoryDispatcher } from '../memory-dispatcher.ts';
import { answer, clientOf, item, page, startService } from '../service-double.ts';

const NOON = Date.UTC(2026, 2, 20, 12);
const USAGE = '/api/v1/external/workspaces/ws-1/tenant-usage';

test("undici's MockAgent responds for both addresses, and stays open when the client closes", async () => {
  const dispatcher = new MockAgent();
  onTestFinished(() => dispatcher.close());
  dispatcher.disableNetConnect();
  const token = { token: 'tok', expires_at: '2026-02-01T00:00:00Z' };
  const data = dispatcher.get('https://data.test');
  data.intercept({ path: USAGE, headers: { 'x-workspace-id': 'ws-1' } }).reply(503, '');
  data.intercept({ path: USAGE }).reply(200, page([item()]));
  const embed = dispatcher.get('https://embed.test');
  embed
    .intercept({ path: '/api/v1/embed/generate-token', method: 'POST', body: /"dashboard_id":"d-1"/ })
    .reply(200, { success: true, message: '', data: token });
  const client = clientOf('https://data.test', { embedUrl: 'https://embed.test', dispatcher });
  expect((await client.getWorkspaceUsage()).usage).toEqual([item()]);
  expect(await client.generateEmbedToken({ dashboardId: 'd-1' })).toEqual(token);
  dispatcher.assertNoPendingInterceptors();
  await client.close();
  expect(await rejection(client.getWorkspaceUsage())).toMatchObject({ code: 'client_closed' });
  data.intercept({ path: '/' }).reply(200, 'still open');
  expect(await (await dispatcher.request({ origin: 'https://data.test', path: '/', method: 'GET' })).body.text()).toBe(
    'still open',
  );
});

test('an interceptor sees each attempt with a signature of its own', async () => {
  const service = await startService(answer(503, ''), answer(200, page([item()])));
  const agent = new Agent();
  onTestFinished(() => Promise.all([service.close(), agent.close()]).then(() => undefined));
  const seen: unknown[] = [];
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    seen.push((options.headers as Record<string, string>)['X-Valid-Until']);
    return dispatch(options, handler);
  });
  const clock = createVirtualClock(NOON);
  const client = clientOf(service.url, { dispatcher, clock });
  const usage = client.getWorkspaceUsage();
  await expect.poll(() => clock.waiting > 0 && seen.length === 1 && service.received.length === 1).toBe(true);
  clock.step(60_000);
  let done = false;
  void usage.finally(() => {
    done = true;
  });
  await expect.poll(() => clock.advance(10).then(() => done)).toBe(true);
  const untilSeconds = NOON / 1000 + 300;
  expect(seen).toEqual([`${untilSeconds}`, `${untilSeconds + 60}`]);
});

test('a whole sync runs in memory on a virtual clock, which ends a hanging request', async () => {
  const { config } = await startFixture();
  const clock = createVirtualClock(NOON);
  const body = Buffer.from(JSON.stringify(page([item()])));
  const dispatcher = new MemoryDispatcher((count) => (count === 1 ? null : { chunks: [body] }));
  const context = new Context(
    { ...config, workspaces: config.workspaces.map((own) => ({ ...own, baseUrl: 'https://nowhere.test' })) },
    { clock, openWriter: openInProcessWriter, clientOptions: { dispatcher, requestTimeoutMs: 240_000 } },
  );
  onTestFinished(() => context.close());
  let outcome: unknown = null;
  const running = context.sync(manualOrder()).then((ended) => {
    outcome = ended;
  });
  await expect.poll(() => dispatcher.asked.length).toBe(1);
  await clock.advance(239_000);
  expect(dispatcher.asked).toHaveLength(1);
  await expect.poll(() => clock.advance(1_000).then(() => outcome)).toMatchObject({ status: 'applied', records: 1 });
  await running;
  expect(dispatcher.asked[0]).toMatch(/^https:\/\/nowhere\.test\/api\/v1\/external\/workspaces\/ws-1\/tenant-usage\?/);
  expect(new Set(dispatcher.asked.slice(0, 2)).size).toBe(1);
});
