import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS, prepare } from './scheduled-bucket.ts';

test('the bucket is asked for its newest backup at the start, and not again before the next slot', async () => {
  const { server, startBackups, names } = await prepare();
  await startBackups().run();
  expect(names('')).toHaveLength(1);
  const asked = server.requests.length;
  const next = startBackups();
  await next.run();
  await next.run();
  expect(names('')).toHaveLength(1);
  const lists = server.requests.slice(asked).map(({ key, query }) => key === '' && query.has('list-type'));
  expect(lists).toEqual([true]);
});

test('a key that is refused is tried at the next slot, and no secret is told or logged', async () => {
  const { server, clock, told, lines, startBackups } = await prepare();
  const access = { ...server.access, secretAccessKey: 'quite-another' };
  const schedule = startBackups({ to: { ...server.place(''), access } });
  await schedule.run();
  const tries = server.requests.length;
  clock.advance(20 * MINUTE_MS);
  await schedule.run();
  expect(server.requests).toHaveLength(tries);
  clock.advance(DAY_MS);
  await schedule.run();
  expect(server.requests.length).toBeGreaterThan(tries);
  expect(told).toEqual([
    expect.stringContaining('SignatureDoesNotMatch'),
    expect.stringContaining('SignatureDoesNotMatch'),
  ]);
  expect(lines).toMatchObject([{ code: 's3_denied', hint: expect.stringContaining('secret_access_key') }, {}]);
  expect(JSON.stringify([told, lines])).not.toMatch(/quite-another|sk\+of/);
});
