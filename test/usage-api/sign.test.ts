import { describe, expect, it } from 'vitest';
import { DEFAULT_SIGNING } from '../../src/config/signing-scheme.ts';
import { InvalidRequestError } from '../../src/usage-api/errors.ts';
import { createSigner, signRequest } from '../../src/usage-api/sign.ts';

// printf 'workspace-4561699999999' | openssl dgst -sha256 -hmac 'sk_test' -hex
const HEX = '14d6d2e74baef8feb5f281db07883b38b668b488c85838caa931be9dab5acc38';
const NOW_MS = 1_699_999_699_999;
const credentials = { workspaceId: 'workspace-456', apiKeyId: 'ak_1', secretKey: 'sk_test', signing: DEFAULT_SIGNING };

const REQUEST = { method: 'GET', path: '/c' };

function sign(signing: Partial<typeof DEFAULT_SIGNING>, nowMs = NOW_MS) {
  return signRequest({ ...credentials, signing: { ...DEFAULT_SIGNING, ...signing } }, REQUEST, nowMs);
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
        expect(signer(REQUEST)).toEqual(signRequest(own, REQUEST, nowMs));
      }
    },
  );
});

describe('signing one second', () => {
  it('happens once if the template covers no part of the request, and again in the next second', () => {
    let nowMs = NOW_MS;
    const signer = createSigner(credentials, { now: () => nowMs });
    const first = signer(REQUEST);
    expect(signer({ method: 'POST', path: '/other' })).toBe(first);
    nowMs += 1000;
    expect(signer(REQUEST)).not.toBe(first);
  });

  it('splits path and query at the first question mark', () => {
    // printf ':a=1?2:1699999999' | openssl dgst -sha256 -hmac 'sk_test' -hex
    const signing = { ...DEFAULT_SIGNING, payload: '{path}:{query}:{valid_until}' };
    const { 'X-Signature': found } = signRequest(
      { ...credentials, signing },
      { method: 'GET', path: '?a=1?2' },
      NOW_MS,
    );
    expect(found).toBe('9e60940e822aba4b671bced32a3b942b2d4bc4939cb97dc24b9761eca40af1f9');
  });
});

describe('signing a request', () => {
  it('matches the signature of openssl', () => {
    expect(signRequest(credentials, REQUEST, NOW_MS)).toEqual({
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

  it('does not expand an id that looks like a placeholder', () => {
    const odd = { ...credentials, workspaceId: '{valid_until}$&' };
    // printf '%s' '{valid_until}$&1699999999' | openssl dgst -sha256 -hmac 'sk_test' -hex
    expect(signRequest(odd, REQUEST, NOW_MS)['X-Signature']).toBe(
      '64b3274ed3a32a3eb9c9deae44ef2693702042a9599346f50c25b016d37aa6a8',
    );
  });

  it('covers the parts of the sent request that the template names', () => {
    const payload = '{method}\\n{path}\n{query}\\n{body_sha256}\n{api_key_id}|{workspace_id}|{valid_until}';
    const signing = { ...DEFAULT_SIGNING, payload, encoding: 'base64url' } as const;
    const request = { method: 'POST', path: '/a%20b/c?from_period=2026-01&page=2', body: '{"title":"Ü"}' };
    // B=$(printf '{"title":"Ü"}' | openssl dgst -sha256 -hex | sed 's/.* //')
    // printf 'POST\n/a%%20b/c\nfrom_period=2026-01&page=2\n%s\nak_1|workspace-456|1699999999' $B |
    //   openssl dgst -sha256 -hmac sk_test -binary | base64 | tr '+/' '-_' | tr -d =
    expect(signRequest({ ...credentials, signing }, request, NOW_MS)['X-Signature']).toBe(
      'xEywNvhifEdw5Hc9eQJxEOD142w91IJ-OUNdCza7EQk',
    );
    // E=$(printf '' | openssl dgst -sha256 -hex | sed 's/.* //')
    // printf 'GET:/c::%s:1699999999' $E | openssl dgst -sha256 -hmac sk_test -hex
    expect(sign({ payload: '{method}:{path}:{query}:{body_sha256}:{valid_until}' })['X-Signature']).toBe(
      '142c6076f31034691cbeb9577e2d3fbf3a281809600f8a5757afc000fc51fa7d',
    );
  });

  it('differs between requests of one second when the template covers them', () => {
    const own = { ...credentials, signing: { ...DEFAULT_SIGNING, payload: '{query}{valid_until}' } };
    const signer = createSigner(own, { now: () => NOW_MS });
    const [one, two, again] = ['/c?page=1', '/c?page=2', '/c?page=1'].map((path) => signer({ method: 'GET', path }));
    expect(one?.['X-Signature']).not.toBe(two?.['X-Signature']);
    expect(again).toEqual(one);
  });

  it('rejects an invalid template', () => {
    for (const payload of ['{workspace_id}', '{valid_until}{nonce}', '\\x{valid_until}'])
      expect(() => sign({ payload })).toThrow(InvalidRequestError);
  });
});
