import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { S3Place } from '../config/types.ts';
import { S3Error } from './refusals.ts';
import {
  type ResponseReader,
  S3Client,
  type S3Connection,
  type S3Request,
  sha256Of,
  xmlElement,
  xmlElements,
  xmlElementText,
} from './s3-client.ts';

export interface ObjectHead {
  sizeBytes: number;
  /**
   * SHA-256 in base64. For a multipart object, `-` and the number of parts follow. Null if the service stores no
   * checksums.
   */
  checksum: string | null;
}

export interface UploadedPart {
  etag: string;
  digest: Buffer;
}

/** Connects to the objects of a place, runs `work` with them, and closes the connections. */
export async function withBucket<T>(connection: S3Connection, work: (bucket: Bucket) => Promise<T>): Promise<T> {
  const client = new S3Client(connection);
  try {
    return await work(new Bucket(client, connection.place));
  } finally {
    await client.close();
  }
}

/**
 * The objects under a prefix of a bucket. A name is the part of a key after the prefix. Every method throws S3Error.
 */
export class Bucket {
  readonly #client: S3Client;
  readonly #place: S3Place;

  constructor(client: S3Client, place: S3Place) {
    this.#client = client;
    this.#place = place;
  }

  addressOf(name: string): string {
    return this.#client.addressOf(name);
  }

  /** Reads size and checksum of an object; null if it does not exist. */
  async head(name: string): Promise<ObjectHead | null> {
    const headers = this.#checksumHeader('x-amz-checksum-mode', 'ENABLED');
    try {
      return await this.#client.send({ method: 'HEAD', name, headers }, async ({ headers: received, body }) => {
        await body.dump();
        const checksum = received['x-amz-checksum-sha256'];
        return {
          sizeBytes: Number(received['content-length']),
          checksum: checksum === undefined ? null : String(checksum),
        };
      });
    } catch (error) {
      if (error instanceof S3Error && error.status === 404) return null;
      throw error;
    }
  }

  /** Downloads an object to a file. If the response breaks off, the object is requested again. */
  async download(name: string, path: string): Promise<void> {
    await this.#client.send({ method: 'GET', name }, ({ body }) =>
      pipeline(body, createWriteStream(path, { mode: 0o600 })),
    );
  }

  /** Downloads an object and returns its SHA-256 in base64. */
  digest(name: string): Promise<string> {
    return this.#client.send({ method: 'GET', name }, async ({ body }) => {
      const hash = createHash('sha256');
      for await (const chunk of body) hash.update(chunk);
      return hash.digest('base64');
    });
  }

  /** Lists the names of all objects under the prefix, except names that contain a slash. */
  async names(): Promise<string[]> {
    const { prefix } = this.#place;
    const keys: string[] = [];
    let token: string | null = null;
    do {
      const query: Record<string, string> = { 'list-type': '2', prefix };
      if (token !== null) query['continuation-token'] = token;
      const xml: string = await this.#request({ method: 'GET', name: null, query });
      keys.push(...xmlElements(xml, 'Contents').map((item) => xmlElementText(item, 'Key') ?? ''));
      token = xmlElementText(xml, 'NextContinuationToken');
    } while (token !== null);
    return keys.map((key) => key.slice(prefix.length)).filter((name) => name !== '' && !name.includes('/'));
  }

  /** Deletes an object, if it exists. */
  async remove(name: string): Promise<void> {
    await this.#request({ method: 'DELETE', name });
  }

  async put(name: string, body: Buffer): Promise<void> {
    await this.#request({ method: 'PUT', name, body, digest: sha256Of(body) });
  }

  /** Starts a multipart upload and returns its id. */
  async startUpload(name: string): Promise<string> {
    const headers = this.#checksumHeader('x-amz-checksum-algorithm', 'SHA256');
    const xml = await this.#request({ method: 'POST', name, query: { uploads: '' }, headers });
    const uploadId = xmlElementText(xml, 'UploadId');
    if (uploadId === null) throw notS3Error(this.addressOf(name));
    return uploadId;
  }

  /** Uploads one part of a multipart upload. Part numbers start at 1. */
  uploadPart(name: string, uploadId: string, number: number, body: Buffer): Promise<UploadedPart> {
    const digest = sha256Of(body);
    const query = { partNumber: String(number), uploadId };
    return this.#client.send({ method: 'PUT', name, query, body, digest }, async ({ headers, body: responseBody }) => {
      await responseBody.dump();
      return { etag: String(headers.etag), digest };
    });
  }

  /** Completes a multipart upload. Before that the object does not exist. */
  async completeUpload(name: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const partElements = parts.map(({ etag, digest }, index) => {
      const number = xmlElement('PartNumber', String(index + 1));
      const checksum = this.#client.hasChecksums ? xmlElement('ChecksumSHA256', digest.toString('base64')) : '';
      return `<Part>${number}${xmlElement('ETag', etag)}${checksum}</Part>`;
    });
    const body = Buffer.from(`<CompleteMultipartUpload>${partElements.join('')}</CompleteMultipartUpload>`);
    const request: S3Request = { method: 'POST', name, query: { uploadId }, body };
    await this.#client.send(request, async (response) => {
      const xml = await response.body.text();
      // A service may send status 200 before it knows the outcome, and then an error in the body.
      if (xml.includes('<Error>')) throw this.#client.lateRefusal(request, xmlElementText(xml, 'Code'));
    });
  }

  /** Cancels an upload and discards its parts. The request is sent even while the program stops, and is not retried. */
  async abortUpload(name: string, uploadId: string): Promise<void> {
    await this.#request({ method: 'DELETE', name, query: { uploadId }, isCleanup: true });
  }

  /** Lists the multipart uploads under the prefix that were neither completed nor cancelled. */
  async unfinishedUploads(): Promise<{ name: string; uploadId: string }[]> {
    const { prefix } = this.#place;
    const xml = await this.#request({ method: 'GET', name: null, query: { uploads: '', prefix } });
    return xmlElements(xml, 'Upload').map((item) => ({
      name: (xmlElementText(item, 'Key') ?? '').slice(prefix.length),
      uploadId: xmlElementText(item, 'UploadId') ?? '',
    }));
  }

  /** Returns the header for a service that stores checksums; for other services, no header. */
  #checksumHeader(name: string, value: string): Record<string, string> {
    return this.#client.hasChecksums ? { [name]: value } : {};
  }

  #request(request: S3Request): Promise<string> {
    const read: ResponseReader<string> = ({ body }) => body.text();
    return this.#client.send(request, read);
  }
}

function notS3Error(name: string): S3Error {
  const hint = 'check that `s3.endpoint` is an S3 service';
  return new S3Error('s3_failed', `${name}: the response is not from an S3 service`, {
    status: 200,
    retryable: false,
    hint,
  });
}
