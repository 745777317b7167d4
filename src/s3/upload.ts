import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Bucket, UploadedPart } from './bucket.ts';
import { S3Error } from './refusals.ts';
import { sha256Of } from './s3-client.ts';

/** Size of a part. An upload needs this much memory, however large the file is. */
const PART_BYTES = 8 * 1024 * 1024;
/** Maximum number of parts of an object, a limit of S3. */
const MAX_PARTS = 10_000;

export interface UploadOptions {
  bucket: Bucket;
  path: string;
  name: string;
  /**
   * Reports whether an unfinished upload of the object with this name may be cancelled, because nobody will continue
   * it.
   */
  isAbandoned: (name: string) => boolean;
}

interface SentFile {
  sizeBytes: number;
  digest: string;
  /**
   * The checksum that the service should store; for a multipart object, that of the parts' checksums and their number.
   */
  checksum: string;
}

/**
 * Uploads a file as an object and verifies the object. Even after a failure, the object is complete or does not exist.
 * The memory used hardly depends on the size of the file. Throws S3Error, with code `upload_faulty` if the stored
 * object does not match the file.
 */
export async function uploadFile(options: UploadOptions): Promise<void> {
  const file = await open(options.path);
  try {
    const { size } = await file.stat();
    const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS));
    if (size <= partBytes) {
      const body = await file.readFile();
      await options.bucket.put(options.name, body);
      const digest = sha256Of(body).toString('base64');
      await verifyUpload(options, { sizeBytes: body.byteLength, digest, checksum: digest });
    } else await uploadParts(options, file, partBytes);
  } finally {
    await file.close();
  }
}

async function uploadParts(options: UploadOptions, file: FileHandle, partBytes: number): Promise<void> {
  const { bucket, name, isAbandoned } = options;
  for (const upload of await bucket.unfinishedUploads()) {
    if (upload.name === name || isAbandoned(upload.name)) await bucket.abortUpload(upload.name, upload.uploadId);
  }
  const uploadId = await bucket.startUpload(name);
  try {
    const { parts, sent } = await sendParts(options, file, { uploadId, partBytes });
    try {
      await bucket.completeUpload(name, uploadId, parts);
    } catch (error) {
      // The upload may be complete although its response was lost.
      if ((await describeDifference(options, sent)) !== null) throw error;
      return;
    }
    await verifyUpload(options, sent);
  } catch (error) {
    await bucket.abortUpload(name, uploadId).catch(() => undefined);
    throw error;
  }
}

async function sendParts(
  { bucket, name }: UploadOptions,
  file: FileHandle,
  { uploadId, partBytes }: { uploadId: string; partBytes: number },
): Promise<{ parts: UploadedPart[]; sent: SentFile }> {
  const fileDigest = createHash('sha256');
  const partDigests = createHash('sha256');
  const parts: UploadedPart[] = [];
  const buffer = Buffer.allocUnsafe(partBytes);
  let sizeBytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, partBytes, sizeBytes);
    if (bytesRead === 0) break;
    const body = buffer.subarray(0, bytesRead);
    sizeBytes += bytesRead;
    const part = await bucket.uploadPart(name, uploadId, parts.length + 1, body);
    fileDigest.update(body);
    partDigests.update(part.digest);
    parts.push(part);
  }
  const checksum = `${partDigests.digest('base64')}-${parts.length}`;
  return { parts, sent: { sizeBytes, digest: fileDigest.digest('base64'), checksum } };
}

async function verifyUpload(options: UploadOptions, sent: SentFile): Promise<void> {
  const { bucket, name } = options;
  const difference = await describeDifference(options, sent);
  if (difference === null) return;
  await bucket.remove(name).catch(() => undefined);
  const message = `${bucket.addressOf(name)} does not match the ${sent.sizeBytes} bytes that were sent: it ${difference}`;
  const hint = 'run `usage-ledger doctor`, and check whether other programs write to this prefix';
  throw new S3Error('upload_faulty', message, { status: null, retryable: true, hint });
}

/**
 * Compares the object with the sent file and describes the difference; null if they match. If the service has no
 * matching checksum, the object is downloaded for the comparison.
 */
async function describeDifference({ bucket, name }: UploadOptions, sent: SentFile): Promise<string | null> {
  const head = await bucket.head(name);
  if (head === null) return 'is missing';
  if (head.sizeBytes !== sent.sizeBytes) return `has ${head.sizeBytes} bytes`;
  if (head.checksum === sent.checksum || (await bucket.digest(name)) === sent.digest) return null;
  return 'has other content';
}
