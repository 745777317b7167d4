import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { SECRET_KEY } from '../../support/net/s3-server.ts';
import { usageRecord } from '../../support/open-ledger.ts';
import { DAY_MS, MINUTE_MS, prepare } from './scheduled-bucket.ts';

test('backups go to the bucket, the oldest are removed, other objects stay, and no local file remains', async () => {
  const { folder, server, clock, told, lines, startBackups, names } = await prepare();
  const foreign = { sizeBytes: 1, sha256: '', checksum: '', body: Buffer.from('x') };
  for (const key of ['ledger-1/notes.txt', 'ledger-10/ledger-20200101T000000Z.db']) server.objects.set(key, foreign);
  const schedule = startBackups();
  for (let day = 0; day < 4; day += 1) {
    await schedule.run();
    await schedule.run();
    clock.advance(DAY_MS);
  }
  expect(names('')).toEqual([
    'ledger-1/ledger-20260321T120000Z.db',
    'ledger-1/ledger-20260322T120000Z.db',
    'ledger-1/ledger-20260323T120000Z.db',
    'ledger-1/notes.txt',
    'ledger-10/ledger-20200101T000000Z.db',
  ]);
  expect(lines[0]).toMatchObject({
    msg: 'backup made',
    path: 's3://our-bucket/ledger-1/ledger-20260320T120000Z.db',
    runs: 1,
  });
  expect(told).toEqual([null, null, null, null]);
  expect(readdirSync(folder)).toEqual([]);
});

test('a failed upload raises an alert and is retried after 15 minutes, which ends the alert', async () => {
  const { folder, server, clock, told, startBackups, names } = await prepare();
  server.fault = ({ method }) => (method === 'PUT' ? { status: 503, code: 'SlowDown' } : null);
  const schedule = startBackups();
  await schedule.run();
  await schedule.run();
  expect(told).toEqual([expect.stringMatching(/PUT s3:\/\/our-bucket\/ledger-1\/.* 503 SlowDown/)]);
  expect(readdirSync(folder)).toEqual([]);
  server.fault = () => null;
  clock.advance(14 * MINUTE_MS);
  await schedule.run();
  expect(names('')).toEqual([]);
  clock.advance(MINUTE_MS);
  await schedule.run();
  expect(names('')).toHaveLength(1);
  expect(told.slice(1)).toEqual([null]);
}, 60_000);

test('a stop during an upload leaves no object, the next upload removes its parts, and no command line shows the secret', async () => {
  const records = Array.from({ length: 25_000 }, (_, index) => usageRecord(`tenant-${index}`.padEnd(190, 'x'), index));
  const { folder, server, startBackups, names } = await prepare(records);
  const shown: string[] = [];
  server.fault = ({ query }) => {
    if (query.get('partNumber') !== '2') return null;
    shown.push(...commandLines());
    return 'silent';
  };
  const schedule = startBackups();
  await eventually(() => expect(shown).not.toEqual([]), 60_000);
  expect(shown.some((line) => line.includes('backup-process'))).toBe(true);
  // A test beside this one gives its own process the key by its arguments.
  const ours = shown.filter((line) => !line.includes('upload-process.mjs'));
  expect(ours.filter((line) => line.includes(SECRET_KEY))).toEqual([]);
  await schedule.stop();
  expect([names(''), readdirSync(folder), server.uploads.size]).toEqual([[], [], 1]);
  server.fault = () => null;
  await startBackups().run();
  expect(names('')).toHaveLength(1);
  expect(server.uploads.size).toBe(0);
}, 120_000);

/** Of every process of this machine. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}

test('exports go to the bucket, the oldest are removed, and the second failure raises an alert that a success ends', async () => {
  const { folder, server, clock, told, startExports, names } = await prepare();
  const schedule = startExports();
  for (let day = 0; day < 4; day += 1) {
    await schedule.run();
    clock.advance(DAY_MS);
  }
  expect(names('')).toEqual(['21', '22', '23'].map((day) => `exports/usage-202603${day}T120000Z.csv`));
  const [newest] = [...server.objects.values()].slice(-1);
  expect(newest?.body.toString()).toMatch(/^workspace_id,/);
  expect(readdirSync(folder)).toEqual(['.usage.export']);
  expect(told).toEqual([null]);

  server.fault = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : null);
  await schedule.run();
  expect(told).toHaveLength(1);
  clock.advance(6 * MINUTE_MS);
  await schedule.run();
  expect(told.slice(1)).toEqual([expect.stringMatching(/^usage: PUT s3:.*403 AccessDenied/)]);
  expect(readdirSync(folder)).toEqual(['.usage.export']);
  server.fault = () => null;
  clock.advance(6 * MINUTE_MS);
  await schedule.run();
  expect(told.slice(2)).toEqual([null]);
}, 60_000);

test('a bucket that refuses deletion gets each backup once, and old ones are removed once it allows deletion', async () => {
  const { server, clock, told, lines, startBackups, names } = await prepare();
  const schedule = startBackups();
  for (let day = 0; day < 3; day += 1) {
    await schedule.run();
    clock.advance(DAY_MS);
  }
  server.fault = ({ method }) => (method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : null);
  for (let day = 0; day < 2; day += 1) {
    await schedule.run();
    clock.advance(MINUTE_MS);
    await schedule.run();
    clock.advance(DAY_MS);
  }
  expect(names('ledger-1/ledger-')).toHaveLength(5);
  expect(told.at(-1)).toMatch(
    /^ledger-\w+\.db was made, but old ones could not be removed: DELETE .* it refused s3:DeleteObject: grant s3:DeleteObject on /,
  );
  expect(lines.filter(({ msg }) => msg === 'backup made')).toHaveLength(5);
  server.fault = () => null;
  clock.advance(-DAY_MS + 20 * MINUTE_MS);
  await schedule.run();
  expect(names('ledger-1/ledger-')).toHaveLength(3);
  expect(told.at(-1)).toBeNull();
}, 60_000);

test('an export that cannot remove its old files is not written again, and its alert ends once it can', async () => {
  const { server, clock, told, startExports, names } = await prepare();
  const schedule = startExports();
  for (let day = 0; day < 3; day += 1) {
    await schedule.run();
    clock.advance(DAY_MS);
  }
  server.fault = ({ method }) => (method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : null);
  for (let tries = 0; tries < 2; tries += 1) {
    await schedule.run();
    clock.advance(6 * MINUTE_MS);
  }
  expect(names('')).toHaveLength(4);
  expect(told.at(-1)).toMatch(
    /^usage: the file was written, but old ones could not be removed: .*grant s3:DeleteObject on s3:\/\/our-bucket\/exports\/\*/,
  );
  server.fault = () => null;
  await schedule.run();
  expect(names('')).toHaveLength(3);
  expect(told.at(-1)).toBeNull();
}, 60_000);
