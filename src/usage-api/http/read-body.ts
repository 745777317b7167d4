import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type PageLease, SMALL_BYTES } from './page-memory.ts';

const inflate = promisify(gunzip);

/** Decoded bytes of a body that are read at most; a page of 100 records has some 20 kB. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Why a body could not be read although the connection was fine. */
export class BodyFault extends Error {
  readonly kind: 'too_long' | 'cut_off' | 'undecodable';

  constructor(kind: BodyFault['kind'], message: string) {
    super(message);
    this.name = 'BodyFault';
    this.kind = kind;
  }
}

/**
 * Undoes the content-encoding of a body. The limit counts decoded bytes: 65 kB of gzip can be 64 MiB. A body
 * comes and goes in pieces, so that whoever needs it whole joins it where it is to be.
 *
 * Throws BodyFault.
 */
export async function decodeBody(
  raw: Uint8Array[],
  encoding: string | null,
  maxBytes: number,
  lease: PageLease | null = null,
): Promise<Uint8Array[]> {
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return raw;
    case 'gzip':
    case 'x-gzip':
      return gunzipWithin(Buffer.concat(raw), maxBytes, lease);
    default:
      throw new BodyFault('undecodable', 'the answer has a content-encoding that was not asked for');
  }
}

async function gunzipWithin(packed: Buffer, maxBytes: number, lease: PageLease | null): Promise<Uint8Array[]> {
  // A service that labels an empty body as gzip sends no gzip header either.
  if (packed.byteLength === 0) return [];
  // The last four bytes say how long it becomes; what was cut off or lies is unpacked again with more room.
  const announced = packed.byteLength < 4 ? 0 : packed.readUInt32LE(packed.byteLength - 4);
  try {
    if (announced <= SMALL_BYTES) return [await inflate(packed, { maxOutputLength: Math.min(SMALL_BYTES, maxBytes) })];
  } catch (error) {
    if (!isTooLarge(error)) throw unpackFault(error);
  }
  await lease?.grow();
  try {
    return [await inflate(packed, { maxOutputLength: maxBytes })];
  } catch (error) {
    throw isTooLarge(error) ? tooLong(maxBytes) : unpackFault(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isTooLarge(error: unknown): boolean {
  return codeOf(error) === 'ERR_BUFFER_TOO_LARGE';
}

function unpackFault(error: unknown): BodyFault {
  return codeOf(error) === 'Z_BUF_ERROR'
    ? new BodyFault('cut_off', 'the compressed answer ends too early')
    : new BodyFault('undecodable', 'the answer is not the gzip it claims to be');
}

/** The fault of a body with more bytes than allowed. */
export function tooLong(maxBytes: number): BodyFault {
  return new BodyFault('too_long', `the answer is longer than ${maxBytes} bytes`);
}
