import type { Config, S3Place } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { Bucket } from '../../s3/bucket.ts';
import { sha256 } from '../../s3/s3-client.ts';
import { type Finding, fail, ok } from './finding.ts';

const NAME = '.usage-ledger-doctor';
/** A service that is well answers sooner. */
const ANSWER_MS = 10_000;

/** Whether backups and exports can leave this machine: a small object is written, found, read and deleted in each place. */
export async function checkBuckets({ backup, exports }: Config, clock: Clock): Promise<Finding[]> {
  const places = new Map<string, S3Place>();
  for (const { to } of [...(backup === null ? [] : [backup]), ...exports]) {
    if (to !== null) places.set(`s3://${to.bucket}/${to.prefix}`, to);
  }
  return Promise.all([...places].map(([address, place]) => checkPlace(address, place, clock)));
}

async function checkPlace(address: string, place: S3Place, clock: Clock): Promise<Finding> {
  const { withBucket } = await import('../../s3/bucket.ts');
  const way = { place, clock, signal: new AbortController().signal, answerMs: ANSWER_MS, attempts: 2 };
  try {
    const difference = await withBucket(way, (bucket) => tryBucket(bucket, Buffer.from(`doctor ${clock.now()}`)));
    if (difference === null) return ok('bucket', 'an object was written, found, read and deleted', address);
    return fail('bucket', difference, 'check that `s3.endpoint` is a service that speaks S3', address);
  } catch (error) {
    const { message, hint = 'correct what the message names' } = summarizeError(error);
    return fail('bucket', message, hint, address);
  }
}

/** All that an upload, a rotation and a restore need; what is not as it should be, or null. */
async function tryBucket(bucket: Bucket, content: Buffer): Promise<string | null> {
  await bucket.put(NAME, content);
  const found = (await bucket.names()).includes(NAME);
  const digest = await bucket.digest(NAME);
  await bucket.unfinished();
  await bucket.remove(NAME);
  if (!found) return 'the object that was written is not in the list';
  return digest === sha256(content).toString('base64') ? null : 'what is read is not what was written';
}
