import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WallClock } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { type ScenarioSigning, type SignedValues, signedText } from '../world/scenario.ts';
import type { SandboxWorkspace } from '../world/store.ts';
import { failure, type Reply, type SandboxCall } from './call.ts';

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

export interface ApiKey {
  id: string;
  secret: string;
  workspace: SandboxWorkspace;
}

export type SignatureVerdict = { ok: true; key: ApiKey } | { ok: false; reply: Reply };

export interface SignatureChecker {
  /**
   * Checks the four headers of interface section 5, for the request whose body this is. 401 for whatever is missing, unknown, out of date or wrongly signed; 403 for a good signature that
   * reaches for another key's workspace.
   */
  check(call: SandboxCall, headers: IncomingHttpHeaders, body: Buffer): SignatureVerdict;
}

/** Checks by the scheme of the scenario. Knows nothing of any client's signing code, so that it can contradict it. */
export function createSignatureChecker(
  keys: ReadonlyMap<string, ApiKey>,
  signing: ScenarioSigning,
  clock: WallClock,
): SignatureChecker {
  const expectedSignature = createExpectation(signing);

  return {
    check(call, headers, body) {
      const { workspaceId, method, path, rawQuery: query } = call;
      const keyId = single(headers['x-api-key-id']);
      const claimed = single(headers['x-workspace-id']);
      const validUntil = single(headers['x-valid-until']);
      const signature = single(headers['x-signature']);
      if (keyId === '') return refused(401, 'X-API-Key-ID is missing');
      if (claimed === '') return refused(401, 'X-Workspace-ID is missing');
      if (validUntil === '') return refused(401, 'X-Valid-Until is missing');
      if (signature === '') return refused(401, 'X-Signature is missing');

      const key = keys.get(keyId);
      if (key === undefined) return refused(401, 'The API key is unknown');
      const validUntilMs = parseValidUntil(validUntil, signing.valid_until);
      if (validUntilMs === null) return refused(401, 'X-Valid-Until is malformed');
      const now = clock.now();
      if (validUntilMs < now) return refused(401, 'The signature has expired');
      if (validUntilMs > now + DAY_MS) return refused(401, 'X-Valid-Until lies too far in the future');
      const values = { workspace_id: claimed, valid_until: validUntil, api_key_id: keyId, method, path, query, body };
      if (!sameBytes(Buffer.from(signature), expectedSignature(key, values))) {
        return refused(401, 'The signature is wrong');
      }
      if (claimed !== key.workspace.id || (workspaceId !== null && workspaceId !== key.workspace.id)) {
        return refused(403, 'The API key has no access to this workspace');
      }
      return { ok: true, key };
    },
  };
}

/** True when both texts are equal; takes the same time whatever they share. */
export function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(createHash('sha256').update(left).digest(), createHash('sha256').update(right).digest());
}

/** Mostly the signature covers only the workspace and the validity: then the last one of a key serves the next request. */
function createExpectation(signing: ScenarioSigning): (key: ApiKey, values: SignedValues) => Buffer {
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

/** Epoch milliseconds, or null when the text is not in the format of the scenario. */
function parseValidUntil(text: string, format: ScenarioSigning['valid_until']): number | null {
  if (format === 'iso8601') {
    const parsed = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(parsed) ? null : parsed;
  }
  if (!/^\d{1,15}$/.test(text)) return null;
  return format === 'unix_seconds' ? Number(text) * 1_000 : Number(text);
}

function sameBytes(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function single(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}

function refused(status: 401 | 403, message: string): SignatureVerdict {
  return { ok: false, reply: failure(status, message) };
}
