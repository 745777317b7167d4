import { createHash, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../core/text/roles.ts';

/** The client of a request, identified by its token. */
export interface Caller {
  name: string;
  role: Role;
  /** `write` if the MCP tools of the caller include changes. */
  mcp?: 'read' | 'write' | undefined;
}

interface KnownToken extends Caller {
  token: string;
}

/**
 * Returns the caller that a token belongs to; null if the token is unknown. Every token is compared in constant time,
 * so that the response time reveals neither the length of a token nor its position in the list.
 */
export function callerOf(given: Buffer | null, tokens: readonly KnownToken[]): Caller | null {
  if (given === null) return null;
  let caller: Caller | null = null;
  for (const { token, name, role, mcp } of tokens) {
    if (timingSafeEqual(digest(given), digest(Buffer.from(token, 'utf8')))) caller = { name, role, mcp };
  }
  return caller;
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
