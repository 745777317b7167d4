import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { S3Place } from '../config/types.ts';
import { S3Error } from './refusals.ts';
import {
  element,
  elementsOf,
  type ReadAnswer,
  S3Client,
  type S3Request,
  type S3Way,
  sha256,
  textOf,
} from './s3-client.ts';

export interface ObjectHead {
  sizeBytes: number;
  /** SHA-256 in base64, of parts with their number; null where the service keeps none. */
  checksum: string | null;
}

export interface SentPart {
  etag: string;
  digest: Buffer;
}

export async function withBucket<T>(way: S3Way, work: (bucket: Bucket) => Promise<T>): Promise<T> {
  const client = new S3Client(way);
  try {
    return await work(new Bucket(client, way.place));
  } finally {
    await client.close();
  }
}

/** The objects of a place in a bucket, by their names below it. Every method throws S3Error. */
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

  async head(name: string): Promise<ObjectHead | null> {
    const headers = this.#ifKept('x-amz-checksum-mode', 'ENABLED');
    try {
      return await this.#client.send({ method: 'HEAD', name, headers }, async ({ headers: said, body }) => {
        await body.dump();
        const checksum = said['x-amz-checksum-sha256'];
        return {
          sizeBytes: Number(said['content-length']),
          checksum: checksum === undefined ? null : String(checksum),
        };
      });
    } catch (error) {
      if (error instanceof S3Error && error.status === 404) return null;
      throw error;
    }
  }

  /** Writes an object into a file. An answer that is cut off is asked for again. */
  async download(name: string, path: string): Promise<void> {
    await this.#client.send({ method: 'GET', name }, ({ body }) =>
      pipeline(body, createWriteStream(path, { mode: 0o600 })),
    );
  }

  digest(name: string): Promise<string> {
    return this.#client.send({ method: 'GET', name }, async ({ body }) => {
      const hash = createHash('sha256');
      for await (const chunk of body) hash.update(chunk);
      return hash.digest('base64');
    });
  }

  /** The names of all objects; what lies below another slash is left out. */
  async names(): Promise<string[]> {
    const { prefix } = this.#place;
    const keys: string[] = [];
    let token: string | null = null;
    do {
      const query: Record<string, string> = { 'list-type': '2', prefix };
      if (token !== null) query['continuation-token'] = token;
      const xml: string = await this.#ask({ method: 'GET', name: null, query });
      keys.push(...elementsOf(xml, 'Contents').map((item) => textOf(item, 'Key') ?? ''));
      token = textOf(xml, 'NextContinuationToken');
    } while (token !== null);
    return keys.map((key) => key.slice(prefix.length)).filter((name) => name !== '' && !name.includes('/'));
  }

  /** There need not be such an object. */
  async remove(name: string): Promise<void> {
    await this.#ask({ method: 'DELETE', name });
  }

  async put(name: string, body: Buffer): Promise<void> {
    await this.#ask({ method: 'PUT', name, body, digest: sha256(body) });
  }

  /** Begins an object of several parts; its name for what follows. */
  async beginParts(name: string): Promise<string> {
    const headers = this.#ifKept('x-amz-checksum-algorithm', 'SHA256');
    const xml = await this.#ask({ method: 'POST', name, query: { uploads: '' }, headers });
    const uploadId = textOf(xml, 'UploadId');
    if (uploadId === null) throw unreadable(this.addressOf(name));
    return uploadId;
  }

  /** Sends a part; numbers begin with 1. */
  sendPart(name: string, uploadId: string, number: number, body: Buffer): Promise<SentPart> {
    const digest = sha256(body);
    const query = { partNumber: String(number), uploadId };
    return this.#client.send({ method: 'PUT', name, query, body, digest }, async ({ headers, body: rest }) => {
      await rest.dump();
      return { etag: String(headers.etag), digest };
    });
  }

  /** Makes one object of the parts: there is none before. */
  async completeParts(name: string, uploadId: string, parts: readonly SentPart[]): Promise<void> {
    const listed = parts.map(({ etag, digest }, index) => {
      const number = element('PartNumber', String(index + 1));
      const checksum = this.#client.keepsChecksums ? element('ChecksumSHA256', digest.toString('base64')) : '';
      return `<Part>${number}${element('ETag', etag)}${checksum}</Part>`;
    });
    const body = Buffer.from(`<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`);
    const order: S3Request = { method: 'POST', name, query: { uploadId }, body };
    await this.#client.send(order, async (answer) => {
      const xml = await answer.body.text();
      // The service may begin its answer before it knows how it ends.
      if (xml.includes('<Error>')) throw this.#client.lateRefusal(order, textOf(xml, 'Code'));
    });
  }

  /** The service keeps nothing of the parts. Asked for once, also after a stop. */
  async abortParts(name: string, uploadId: string): Promise<void> {
    await this.#ask({ method: 'DELETE', name, query: { uploadId }, cleansUp: true });
  }

  async unfinished(): Promise<{ name: string; uploadId: string }[]> {
    const { prefix } = this.#place;
    const xml = await this.#ask({ method: 'GET', name: null, query: { uploads: '', prefix } });
    return elementsOf(xml, 'Upload').map((item) => ({
      name: (textOf(item, 'Key') ?? '').slice(prefix.length),
      uploadId: textOf(item, 'UploadId') ?? '',
    }));
  }

  /** A header for services that keep checksums. */
  #ifKept(name: string, value: string): Record<string, string> {
    return this.#client.keepsChecksums ? { [name]: value } : {};
  }

  #ask(order: S3Request): Promise<string> {
    const read: ReadAnswer<string> = ({ body }) => body.text();
    return this.#client.send(order, read);
  }
}

function unreadable(name: string): S3Error {
  const hint = 'check that `s3.endpoint` is a service that speaks S3';
  return new S3Error('s3_failed', `${name}: the answer is none of S3`, { status: 200, retryable: false, hint });
}
