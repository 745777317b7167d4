import { type Bucket, withBucket } from './bucket.ts';
import { type S3Connection, sha256Of } from './s3-client.ts';

const TEST_OBJECT = '.usage-ledger-doctor';

/** Tests whether an upload can work: writes a small object and reads it. Throws S3Error. */
export function requireWritable(connection: S3Connection): Promise<void> {
  return withBucket(connection, async (bucket) => {
    await bucket.put(TEST_OBJECT, Buffer.from('usage-ledger'));
    await bucket.head(TEST_OBJECT);
    await bucket.digest(TEST_OBJECT);
    // Ignores a refusal, because an upload does not need permission to delete.
    await bucket.remove(TEST_OBJECT).catch(() => undefined);
  });
}

/**
 * Tests whether uploads, rotation and restore can work: writes, lists, reads and deletes a small object. If the object
 * is not as it was written, returns a description of the difference; otherwise null. Throws S3Error.
 */
export function findPrefixFault(connection: S3Connection): Promise<string | null> {
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
