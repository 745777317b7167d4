import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Fault, startS3Server } from '../support/net/s3-server.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { failOnce, fileOf, isPart, MIB, NAME, PREFIX, upload } from './upload-setup.ts';

test.each<[string, Fault, number]>([
  ['a part that is cut off in its middle', 'cut_half', 2],
  ['a part whose answer is lost', 'cut_after', 2],
  ['a service that has no time', { status: 503, code: 'SlowDown' }, 2],
])('%s is sent again', async (_what, fault, bytes) => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(bytes * 8 * MIB + 5);
  failOnce(server, isPart('2'), fault);
  await upload(server, path);
  expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
});

test('a service that does not answer is given up in time, and asked again', async () => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(9 * MIB);
  failOnce(server, isPart('1'), 'silent');
  await upload(server, path, { responseTimeoutMs: 1000 });
  expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
}, 60_000);

test('memory stays flat while a large file is sent', async () => {
  const server = await startS3Server({ discards: true });
  const path = join(temporaryFolder(), 'backup.db');
  writeFileSync(path, '');
  truncateSync(path, 200 * MIB);
  const beganBytes = process.memoryUsage().external;
  let mostBytes = 0;
  server.fault = () => {
    mostBytes = Math.max(mostBytes, process.memoryUsage().external - beganBytes);
    return null;
  };
  // The object itself is thrown away, so that reading it back cannot agree.
  await rejection(upload(server, path));
  expect(server.requests.filter(({ method, query }) => method === 'PUT' && query.has('partNumber'))).toHaveLength(25);
  expect(mostBytes).toBeLessThan(80 * MIB);
}, 120_000);

test('a process that is killed at any moment leaves a whole object or none, and the next upload removes its parts', async () => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(20 * MIB);
  const script = fileURLToPath(new URL('./upload-process.mjs', import.meta.url));
  const args = [script, JSON.stringify(server.access), 'p/', path];
  let unfinished = 0;
  for (let kill = 0; kill < 8; kill += 1) {
    const child = spawn(process.execPath, [...args, `ledger-${kill}.db`], { stdio: 'inherit' });
    // One request more each time: from before the first to that which makes the object.
    let left = kill + 1;
    server.fault = () => {
      left -= 1;
      if (left === 0) child.kill('SIGKILL');
      return null;
    };
    await once(child, 'exit');
    unfinished += server.uploads.size;
    expect([...server.objects.values()].every((object) => object.sha256 === sha256)).toBe(true);
  }
  expect(unfinished).toBeGreaterThan(0);
  server.fault = () => null;
  const last = spawn(process.execPath, [...args, NAME], { stdio: 'inherit' });
  expect(await once(last, 'exit')).toEqual([0, null]);
  expect(server.uploads.size).toBe(0);
  expect(server.objects.get(`p/${NAME}`)?.sha256).toBe(sha256);
}, 120_000);
