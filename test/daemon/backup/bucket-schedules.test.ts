import { expect, test } from 'vitest';
import { MINUTE_MS, prepare } from './scheduled-bucket.ts';

test('the bucket is listed at the start, and not again before the next slot', async () => {
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

test('a refused key is retried with growing delays until it is accepted, and no secret is reported or logged', async () => {
  const { server, clock, told, lines, startBackups, names } = await prepare();
  const access = { ...server.access, secretAccessKey: 'quite-another' };
  const schedule = startBackups({ to: { ...server.place(''), access } });
  const triedAfterMs: number[] = [];
  for (let second = 0; second <= 45 * 60; second += 15) {
    const tries = server.requests.length;
    await schedule.run();
    if (server.requests.length > tries) triedAfterMs.push(second);
    clock.advance(15_000);
  }
  expect(triedAfterMs).toEqual([0, 30, 90, 210, 450, 930, 1830]);
  for (const detail of told) {
    expect(detail).toMatch(
      /SignatureDoesNotMatch: the secret does not belong to the key: check `s3\.secret_access_key`/,
    );
  }
  expect(lines[0]).toMatchObject({ code: 's3_denied', hint: expect.stringContaining('secret_access_key') });
  expect(JSON.stringify([told, lines])).not.toMatch(/quite-another|sk\+of/);
  expect(names('')).toEqual([]);
});

test('a missing right on a bucket is reported with its remedy, and the backup follows once it is granted', async () => {
  const { server, clock, told, lines, startBackups, names } = await prepare();
  server.fault = ({ method, query }) =>
    method === 'GET' && query.has('list-type') ? { status: 403, code: 'AccessDenied' } : null;
  const schedule = startBackups();
  await schedule.run();
  expect(told).toEqual([
    expect.stringContaining('it refused s3:ListBucket: grant s3:ListBucket on s3://our-bucket to `s3.access_key_id`'),
  ]);
  server.fault = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : null);
  clock.advance(MINUTE_MS);
  await schedule.run();
  expect(told[1]).toContain('grant s3:PutObject on s3://our-bucket/ledger-1/* to `s3.access_key_id`');
  server.fault = () => null;
  clock.advance(2 * MINUTE_MS);
  await schedule.run();
  expect(told.slice(2)).toEqual([null]);
  expect(names('ledger-1/ledger-')).toHaveLength(1);
  expect(lines.map(({ msg }) => msg)).toEqual(['backup failed', 'backup failed', 'backup made']);
});
