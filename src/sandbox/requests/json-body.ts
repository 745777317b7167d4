import type { IncomingMessage } from 'node:http';
import { failure, type Reply } from './reply.ts';

const MAXIMUM_BODY_BYTES = 1_048_576;

export type JsonBody = { ok: true; value: unknown } | { ok: false; reply: Reply };

/** Reads a JSON body of at most 1 MiB: 415 for another content type, 413 beyond the limit, 400 when it is not JSON. */
export async function readJsonBody(request: IncomingMessage): Promise<JsonBody> {
  const contentType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (contentType !== 'application/json')
    return { ok: false, reply: failure(415, 'Content-Type is not application/json') };
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What is too much is read all the same, unkept: closing on a client that still sends would lose it the answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAXIMUM_BODY_BYTES) return { ok: false, reply: failure(413, 'The body is larger than 1 MiB') };
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch {
    return { ok: false, reply: failure(400, 'The body is not JSON') };
  }
}
