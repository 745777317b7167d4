import { expect, onTestFinished, test } from 'vitest';
import { createWebhookChannel } from '../../src/alerts/channels/webhook-channel.ts';
import { tryConnection } from '../../src/net/http-client.ts';
import { withBucket } from '../../src/s3/bucket.ts';
import { startReceiver } from '../alerts/channels/receiver.ts';
import type { Double } from '../outlets/doubles/double-server.ts';
import { depsFor, NEVER } from '../outlets/receiver-world.ts';
import { rejection } from '../support/rejection.ts';
import { testClock } from '../support/time/test-clock.ts';
import { clientOf } from '../usage-api/service-double.ts';

const REFUSED = 'the connection failed: connection refused (ECONNREFUSED)';
const clock = testClock();

/** An address on which nothing listens any more. */
async function goneUrl(): Promise<string> {
  const { url, close } = await startReceiver((response) => response.end());
  await close();
  return new URL(url).origin;
}

test('usage API, channel, outlet, bucket and doctor describe a refused connection in the same words', async () => {
  const url = await goneUrl();
  const client = clientOf(url, { retries: 0 });
  onTestFinished(() => client.close());
  expect((await rejection(client.getWorkspaceUsage())).message).toBe(`workspace usage: ${REFUSED}`);

  const config = { name: 'hook', url: `${url}/hook`, secrets: [], allowPrivate: true, timeoutMs: 5_000 };
  const message = { notificationId: 'msg_1', payload: '{}', attempt: 1 };
  const result = await createWebhookChannel(config, { clock }).deliver(message, { signal: NEVER });
  const remedy = 'check the address, and that the server runs';
  expect(result).toMatchObject({ reason: `${REFUSED}; ${remedy}`, unknown: false });

  const { http } = depsFor({ url, close: async () => undefined } as unknown as Double);
  const answer = { status: null, fault: `${REFUSED}; ${remedy}`, certain: true };
  expect(await http.call({ method: 'GET' }, NEVER)).toEqual(answer);

  const access = { endpoint: url, region: 'eu-1', accessKeyId: 'a', secretAccessKey: 's', ca: null, proxy: null };
  const connection = { place: { access, bucket: 'b', prefix: '' }, clock, signal: NEVER, attempts: 1 };
  const failure = await rejection(withBucket(connection, (bucket) => bucket.digest('a.db')));
  expect(failure).toMatchObject({ code: 's3_unreachable', message: `GET s3://b/a.db: ${REFUSED}` });

  const options = { clock, policy: { allowPrivate: true }, timeoutMs: 5_000 };
  expect(await rejection(tryConnection(new URL(url), options))).toMatchObject({ message: REFUSED, hint: remedy });
});
