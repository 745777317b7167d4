import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { withBucket } from '../../src/s3/bucket.ts';
import type { S3Connection } from '../../src/s3/s3-client.ts';
import { uploadFile } from '../../src/s3/upload.ts';
import type { Fault, S3Server } from '../support/net/s3-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const MIB = 1024 * 1024;
export const NAME = 'ledger-20260320T020000Z.db';

/** With characters that a signature and an address write otherwise. */
export const PREFIX = "a b/ü+(1)'/";

/** A file of random bytes, and what it should arrive as. */
export function fileOf(bytes: number): { path: string; sha256: string } {
  const path = join(temporaryFolder(), 'backup.db');
  const content = randomBytes(bytes);
  writeFileSync(path, content);
  return { path, sha256: createHash('sha256').update(content).digest('hex') };
}

export function upload(server: S3Server, path: string, way: Partial<S3Connection> = {}): Promise<void> {
  const { signal } = new AbortController();
  const place = server.place(PREFIX);
  return withBucket({ place, clock: systemClock, signal, ...way }, (bucket) =>
    uploadFile({ bucket, path, name: NAME, isAbandoned: (name) => name.startsWith('ledger-') }),
  );
}

/** The first request that fits has this fault, and after it none. */
export function failOnce(
  server: S3Server,
  fits: (request: S3Server['requests'][number]) => boolean,
  fault: Fault,
): void {
  let done = false;
  server.fault = (request) => {
    if (done || !fits(request)) return null;
    done = true;
    return fault;
  };
}

export const isPart = (number: string) => (request: S3Server['requests'][number]) =>
  request.query.get('partNumber') === number;
