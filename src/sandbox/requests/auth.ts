import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WallClock } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { type ScenarioSigning, type SignedValues, signedText } from '../world/scenario.ts';
import type { SandboxWorkspace } from '../world/store.ts';
import { failureReply, type Reply, type SandboxRequest } from './call.ts';

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

export interface SandboxKey {
  id: string;
  secret: string;
  workspace: SandboxWorkspace;
}

export type SignatureVerdict = { ok: true; key: SandboxKey } | { ok: false; reply: Reply };

export interface SignatureChecker {
  /**
   * Checks the four headers of section 5 of the API specification for a request with this body. Returns 401 for a
   * missing, unknown, expired or wrong value, and 403 for a valid signature on another key's workspace.
   */
  check(call: SandboxRequest, headers: IncomingHttpHeaders, body: Buffer): SignatureVerdict;
}

/**
 * Creates a checker for the scenario's signing scheme. It shares no code with the client, so that it finds mistakes in
 * the client's signatures.
 */
export function createSignatureChecker(
  keys: ReadonlyMap<string, SandboxKey>,
  signing: ScenarioSigning,
  clock: WallClock,
): SignatureChecker {
  const expectedSignature = createExpectedSignature(signing);

  return {
    check(call, headers, body) {
      const { workspaceId, method, path, rawQuery: query } = call;
      const keyId = headerValue(headers['x-api-key-id']);
      const claimed = headerValue(headers['x-workspace-id']);
      const validUntil = headerValue(headers['x-valid-until']);
      const signature = headerValue(headers['x-signature']);
      if (keyId === '') return refuseCall(401, 'X-API-Key-ID is missing');
      if (claimed === '') return refuseCall(401, 'X-Workspace-ID is missing');
      if (validUntil === '') return refuseCall(401, 'X-Valid-Until is missing');
      if (signature === '') return refuseCall(401, 'X-Signature is missing');

      const key = keys.get(keyId);
      if (key === undefined) return refuseCall(401, 'The API key is unknown');
      const validUntilMs = parseValidUntil(validUntil, signing.valid_until);
      if (validUntilMs === null) return refuseCall(401, 'X-Valid-Until is malformed');
      const now = clock.now();
      if (validUntilMs < now) return refuseCall(401, 'The signature has expired');
      if (validUntilMs > now + DAY_MS) return refuseCall(401, 'X-Valid-Until is too far in the future');
      const values = { workspace_id: claimed, valid_until: validUntil, api_key_id: keyId, method, path, query, body };
      if (!areEqual(Buffer.from(signature), expectedSignature(key, values))) {
        return refuseCall(401, 'The signature is wrong');
      }
      if (claimed !== key.workspace.id || (workspaceId !== null && workspaceId !== key.workspace.id)) {
        return refuseCall(403, 'The API key has no access to this workspace');
      }
      return { ok: true, key };
    },
  };
}

/** Compares two texts in a time that does not depend on their contents. */
export function isEqualInConstantTime(left: string, right: string): boolean {
  return timingSafeEqual(createHash('sha256').update(left).digest(), createHash('sha256').update(right).digest());
}

/**
 * Creates a function that computes the expected signature. It keeps each key's last result, because most schemes sign
 * only the workspace and the expiry.
 */
function createExpectedSignature(signing: ScenarioSigning): (key: SandboxKey, values: SignedValues) => Buffer {
  const last = new Map<string, { text: string; expected: Buffer }>();
  return (key, values) => {
    const text = signedText(signing.payload, values);
    const known = last.get(key.id);
    if (known?.text === text) return known.expected;
    const expected = Buffer.from(createHmac('sha256', key.secret).update(text).digest(signing.encoding));
    last.set(key.id, { text, expected });
    return expected;
  };
}

/** Parses the expiry into epoch milliseconds. Returns null if the text is not in the scenario's format. */
function parseValidUntil(text: string, format: ScenarioSigning['valid_until']): number | null {
  if (format === 'iso8601') {
    const parsed = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(parsed) ? null : parsed;
  }
  if (!/^\d{1,15}$/.test(text)) return null;
  return format === 'unix_seconds' ? Number(text) * 1_000 : Number(text);
}

function areEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function headerValue(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}

function refuseCall(status: 401 | 403, message: string): SignatureVerdict {
  return { ok: false, reply: failureReply(status, message) };
}
