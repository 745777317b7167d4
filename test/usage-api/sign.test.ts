import { describe, expect, it } from 'vitest';
import { DEFAULT_SIGNING } from '../../src/config/signing-scheme.ts';
import { createSigner, signRequest } from '../../src/usage-api/sign.ts';

// printf 'workspace-4561699999999' | openssl dgst -sha256 -hmac 'sk_test' -hex
const HEX = '14d6d2e74baef8feb5f281db07883b38b668b488c85838caa931be9dab5acc38';
const NOW_MS = 1_699_999_699_999;
const credentials = { workspaceId: 'workspace-456', apiKeyId: 'ak_1', secretKey: 'sk_test', signing: DEFAULT_SIGNING };

function sign(signing: Partial<typeof DEFAULT_SIGNING>, nowMs = NOW_MS) {
  return signRequest({ ...credentials, signing: { ...DEFAULT_SIGNING, ...signing } }, nowMs);
}

describe('a signer', () => {
  it.each(['unix_seconds', 'unix_millis', 'iso8601'] as const)(
    'gives at each moment what signing then gives, in %s',
    (validUntil) => {
      let nowMs = NOW_MS;
      const own = { ...credentials, signing: { ...DEFAULT_SIGNING, validUntil } };
      const signer = createSigner(own, { now: () => nowMs });
      for (const stepMs of [0, 0, 1, 400, 599, 1, 60_000, 0, -30_000, 999, 1]) {
        nowMs += stepMs;
        expect(signer()).toEqual(signRequest(own, nowMs));
      }
    },
  );
});

describe('signing a request', () => {
  it('gives what openssl gives for the known answer', () => {
    expect(signRequest(credentials, NOW_MS)).toEqual({
      'X-API-Key-ID': 'ak_1',
      'X-Workspace-ID': 'workspace-456',
      'X-Valid-Until': '1699999999',
      'X-Signature': HEX,
    });
  });

  it('encodes the same signature as base64 and base64url', () => {
    expect(sign({ encoding: 'base64' })['X-Signature']).toBe('FNbS50uu+P618oHbB4g7OLZotIjIWDjKqTG+natazDg=');
    expect(sign({ encoding: 'base64url' })['X-Signature']).toBe('FNbS50uu-P618oHbB4g7OLZotIjIWDjKqTG-natazDg');
  });

  it('names one instant in all three formats of X-Valid-Until, and signs the text it sends', () => {
    expect(sign({ validUntil: 'unix_seconds' })['X-Valid-Until']).toBe('1699999999');
    expect(sign({ validUntil: 'unix_millis' })['X-Valid-Until']).toBe('1699999999000');
    expect(sign({ validUntil: 'iso8601' })['X-Valid-Until']).toBe('2023-11-14T22:13:19.000Z');
    // printf 'workspace-4562023-11-14T22:13:19.000Z' | openssl dgst -sha256 -hmac 'sk_test' -hex
    expect(sign({ validUntil: 'iso8601' })['X-Signature']).toBe(
      '8bdc625a33c7b375e8df8d67dedce36467c970a62da29bad5cf30c37f71a1af3',
    );
  });

  it('rounds the clock down to whole seconds', () => {
    expect(sign({}, 1_699_999_699_000)['X-Valid-Until']).toBe('1699999999');
    expect(sign({}, 1_699_999_700_000)['X-Valid-Until']).toBe('1700000000');
    expect(sign({ validForSeconds: 60 })['X-Valid-Until']).toBe('1699999759');
  });

  it('takes an id that looks like a placeholder as it is', () => {
    const odd = { ...credentials, workspaceId: '{valid_until}$&' };
    // printf '%s' '{valid_until}$&1699999999' | openssl dgst -sha256 -hmac 'sk_test' -hex
    expect(signRequest(odd, NOW_MS)['X-Signature']).toBe(
      '64b3274ed3a32a3eb9c9deae44ef2693702042a9599346f50c25b016d37aa6a8',
    );
  });
});
