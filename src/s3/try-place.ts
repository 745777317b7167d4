import { type Bucket, withBucket } from './bucket.ts';
import { type S3Connection, sha256Of } from './s3-client.ts';

const TEST_OBJECT = '.usage-ledger-doctor';

/** Writes and reads a small object, as an upload does. Throws S3Error. */
export function testWriting(connection: S3Connection): Promise<void> {
  return withBucket(connection, async (bucket) => {
    await bucket.put(TEST_OBJECT, Buffer.from('usage-ledger'));
    await bucket.head(TEST_OBJECT);
    await bucket.digest(TEST_OBJECT);
    // An upload does not need this permission.
    await bucket.remove(TEST_OBJECT).catch(() => undefined);
  });
}

/**
 * Writes, lists, reads and deletes a small object, as uploads, rotation and restore do. Returns a description of the
 * first mismatch, or null. Throws S3Error.
 */
export function testPrefix(connection: S3Connection): Promise<string | null> {
  return withBucket(connection, (bucket) => tryBucket(bucket, Buffer.from(`doctor ${connection.clock.now()}`)));
}

async function tryBucket(bucket: Bucket, content: Buffer): Promise<string | null> {
  await bucket.put(TEST_OBJECT, content);
  const found = (await bucket.names()).includes(TEST_OBJECT);
  const digest = await bucket.digest(TEST_OBJECT);
  await bucket.unfinishedUploads();
  await bucket.remove(TEST_OBJECT);
  if (!found) return 'the written object is missing from the list';
  return digest === sha256Of(content).toString('base64')
    ? null
    : 'the object that was read differs from the one that was written';
}
