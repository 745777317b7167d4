import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Bucket, SentPart } from './bucket.ts';
import { S3Error } from './refusals.ts';
import { sha256 } from './s3-client.ts';

/** All that is in memory of a file. */
const PART_BYTES = 8 * 1024 * 1024;
/** Services take no more of one object. */
const MOST_PARTS = 10_000;

export interface UploadOrder {
  bucket: Bucket;
  path: string;
  name: string;
  /** Of another object: nobody goes on with it, so what is unfinished of it is removed. */
  isAbandoned: (name: string) => boolean;
}

interface Sent {
  sizeBytes: number;
  digest: string;
  /** As the service has it: of an object in parts that of the parts' checksums, with their number. */
  checksum: string;
}

/**
 * Makes an object of a file and checks it. The object is whole or not there, whenever this ends. Memory does not grow
 * with the file. Throws S3Error, with the code `upload_faulty` when the service has something else than was sent.
 */
export async function uploadFile(order: UploadOrder): Promise<void> {
  const file = await open(order.path);
  try {
    const { size } = await file.stat();
    const partBytes = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS));
    if (size <= partBytes) {
      const body = await file.readFile();
      await order.bucket.put(order.name, body);
      const digest = sha256(body).toString('base64');
      await confirm(order, { sizeBytes: body.byteLength, digest, checksum: digest });
    } else await uploadParts(order, file, partBytes);
  } finally {
    await file.close();
  }
}

async function uploadParts(order: UploadOrder, file: FileHandle, partBytes: number): Promise<void> {
  const { bucket, name, isAbandoned } = order;
  for (const left of await bucket.unfinished()) {
    if (left.name === name || isAbandoned(left.name)) await bucket.abortParts(left.name, left.uploadId);
  }
  const uploadId = await bucket.beginParts(name);
  try {
    const { parts, sent } = await sendParts(order, file, { uploadId, partBytes });
    try {
      await bucket.completeParts(name, uploadId, parts);
    } catch (error) {
      // An answer that got lost leaves open whether the object is there.
      if ((await differenceOf(order, sent)) !== null) throw error;
      return;
    }
    await confirm(order, sent);
  } catch (error) {
    await bucket.abortParts(name, uploadId).catch(() => undefined);
    throw error;
  }
}

async function sendParts(
  { bucket, name }: UploadOrder,
  file: FileHandle,
  { uploadId, partBytes }: { uploadId: string; partBytes: number },
): Promise<{ parts: SentPart[]; sent: Sent }> {
  const whole = createHash('sha256');
  const ofParts = createHash('sha256');
  const parts: SentPart[] = [];
  const buffer = Buffer.allocUnsafe(partBytes);
  let sizeBytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, partBytes, sizeBytes);
    if (bytesRead === 0) break;
    const body = buffer.subarray(0, bytesRead);
    sizeBytes += bytesRead;
    const part = await bucket.sendPart(name, uploadId, parts.length + 1, body);
    whole.update(body);
    ofParts.update(part.digest);
    parts.push(part);
  }
  const checksum = `${ofParts.digest('base64')}-${parts.length}`;
  return { parts, sent: { sizeBytes, digest: whole.digest('base64'), checksum } };
}

async function confirm(order: UploadOrder, sent: Sent): Promise<void> {
  const { bucket, name } = order;
  const difference = await differenceOf(order, sent);
  if (difference === null) return;
  await bucket.remove(name).catch(() => undefined);
  const message = `${bucket.addressOf(name)} is not what was sent, ${sent.sizeBytes} bytes: it ${difference}`;
  const hint = 'run `usage-ledger doctor`, and look for others that write there';
  throw new S3Error('upload_faulty', message, { status: null, retryable: true, hint });
}

/** Null when the object is what was sent. Where the service keeps no checksum like ours, the object is read back. */
async function differenceOf({ bucket, name }: UploadOrder, sent: Sent): Promise<string | null> {
  const head = await bucket.head(name);
  if (head === null) return 'is not there';
  if (head.sizeBytes !== sent.sizeBytes) return `has ${head.sizeBytes}`;
  if (head.checksum === sent.checksum || (await bucket.digest(name)) === sent.digest) return null;
  return 'holds others';
}
