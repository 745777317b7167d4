import { type Bucket, withBucket } from './bucket.ts';
import { type S3Way, sha256 } from './s3-client.ts';

const NAME = '.usage-ledger-doctor';

/** Writes and reads a small object: all that an upload needs. Throws S3Error. */
export function tryWriting(way: S3Way): Promise<void> {
  return withBucket(way, async (bucket) => {
    await bucket.put(NAME, Buffer.from('usage-ledger'));
    await bucket.head(NAME);
    await bucket.digest(NAME);
    // An upload does not need this right.
    await bucket.remove(NAME).catch(() => undefined);
  });
}

/**
 * Writes, finds, reads and deletes a small object: all that an upload, a rotation and a restore need. Returns what does not
 * match, or null. Throws S3Error.
 */
export function tryPlace(way: S3Way): Promise<string | null> {
  return withBucket(way, (bucket) => tryBucket(bucket, Buffer.from(`doctor ${way.clock.now()}`)));
}

async function tryBucket(bucket: Bucket, content: Buffer): Promise<string | null> {
  await bucket.put(NAME, content);
  const found = (await bucket.names()).includes(NAME);
  const digest = await bucket.digest(NAME);
  await bucket.unfinished();
  await bucket.remove(NAME);
  if (!found) return 'the object that was written is not in the list';
  return digest === sha256(content).toString('base64') ? null : 'what is read is not what was written';
}
