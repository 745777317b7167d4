import type { IncomingMessage } from 'node:http';
import { failure, type Reply } from './reply.ts';

const MAXIMUM_BODY_BYTES = 1_048_576;

export type JsonBody = { ok: true; value: unknown } | { ok: false; reply: Reply };

/** Reads a body of at most 1 MiB; null when it is longer. */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What is too much is read all the same, unkept: closing on a client that still sends would lose it the answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAXIMUM_BODY_BYTES ? null : Buffer.concat(chunks);
}

/** The JSON of a body: 415 for another content type, 413 beyond the limit, 400 when it is not JSON. */
export function parseJsonBody({ headers }: IncomingMessage, body: Buffer | null): JsonBody {
  const contentType = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (contentType !== 'application/json')
    return { ok: false, reply: failure(415, 'Content-Type is not application/json') };
  if (body === null) return { ok: false, reply: failure(413, 'The body is larger than 1 MiB') };
  try {
    return { ok: true, value: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return { ok: false, reply: failure(400, 'The body is not JSON') };
  }
}
