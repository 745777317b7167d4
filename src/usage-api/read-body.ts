import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

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
 * Reads a body to its end and undoes its content-encoding. The limit counts decoded bytes: 65 kB of gzip can be 64 MiB.
 * Gives an ArrayBuffer that is nobody else's and has exactly the body's size, so it can be transferred to a thread.
 *
 * Throws BodyFault; errors of the connection pass through. Leaving early destroys the connection.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array> & { arrayBuffer(): Promise<ArrayBuffer> },
  { encoding, length }: { encoding: string | null; length: string | null },
  maxBytes: number,
): Promise<ArrayBuffer> {
  // A body that states its length cannot be longer: then it is read in one go, which costs a third of reading its pieces.
  if (encoding === null && length !== null && Number(length) <= maxBytes) return body.arrayBuffer();
  const raw = await collect(body, maxBytes);
  switch (encoding?.trim().toLowerCase() ?? '') {
    case '':
    case 'identity':
      return raw;
    case 'gzip':
    case 'x-gzip':
      return gunzipWithin(raw, maxBytes);
    default:
      throw new BodyFault('undecodable', 'the answer has a content-encoding that was not asked for');
  }
}

async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLong(maxBytes);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole.buffer;
}

async function gunzipWithin(packed: ArrayBuffer, maxBytes: number): Promise<ArrayBuffer> {
  // A service that labels an empty body as gzip sends no gzip header either.
  if (packed.byteLength === 0) return packed;
  try {
    const bytes = await inflate(packed, { maxOutputLength: maxBytes });
    return new Uint8Array(bytes).buffer;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLong(maxBytes);
    if (code === 'Z_BUF_ERROR') throw new BodyFault('cut_off', 'the compressed answer ends too early');
    throw new BodyFault('undecodable', 'the answer is not the gzip it claims to be');
  }
}

function tooLong(maxBytes: number): BodyFault {
  return new BodyFault('too_long', `the answer is longer than ${maxBytes} bytes`);
}
