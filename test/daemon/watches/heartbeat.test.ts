import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import { startHeartbeat } from '../../../src/daemon/watches/heartbeats.ts';
import { startReceiver } from '../../alerts/channels/receiver.ts';
import { eventually } from '../../support/eventually.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

const MINUTE_MS = 60_000;

test('heartbeats are sent while the daemon is ready', async () => {
  let status = 200;
  const receiver = await startReceiver((response) => {
    response.statusCode = status;
    response.end();
  });
  onTestFinished(receiver.close);
  const lines: string[] = [];
  const clock = createVirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  let isReady = true;
  const task = startHeartbeat({
    heartbeat: { name: 'watch', url: receiver.url, allowPrivate: true, timeoutMs: 5000, everyMs: 5 * MINUTE_MS },
    proxy: null,
    isReady: () => isReady,
    clock,
    logger: createLogger({ destination: { write: (line: string) => void lines.push(line) } }),
  });
  onTestFinished(() => task.stop());
  const bodies = () => receiver.received.map(({ body }) => JSON.parse(String(body)));
  await task.run();
  await eventually(() => expect(bodies()).toHaveLength(1));
  expect(bodies()).toEqual([{ status: 'ok', at: '2026-03-01T12:00:00.000Z' }]);
  await clock.advance(5 * MINUTE_MS);
  await eventually(() => expect(bodies()).toHaveLength(2));
  isReady = false;
  await clock.advance(20 * MINUTE_MS);
  isReady = true;
  status = 500;
  await clock.advance(5 * MINUTE_MS);
  await eventually(() => expect(lines).toHaveLength(1));
  expect(bodies().map(({ at }) => at.slice(11, 16))).toEqual(['12:00', '12:05', '12:30']);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ channel: 'watch', reason: 'HTTP 500' });
});
