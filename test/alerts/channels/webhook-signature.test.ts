import { describe, expect, it } from 'vitest';
import { decodeWebhookKey, signWebhook } from '../../../src/alerts/channels/webhook-signature.ts';

// cspell:ignore pässword

const BODY = '{"tenant_id":"Zoë","credits":9007199254740993}';

describe('the webhook signature', () => {
  // printf '%s' 'msg_1.1772000000.<body>' | openssl dgst -sha256 -hmac 'plain pässword' -binary | base64
  it('equals what openssl computes with a secret of plain text', () => {
    expect(signWebhook(decodeWebhookKey('plain pässword'), 'msg_1', 1_772_000_000, BODY)).toBe(
      'v1,rOu8JCuAcHGgG2jLYL7wwYtgE4/zR6w02yw+v8CX33o=',
    );
  });

  it('takes a base64 secret with or without its padding', () => {
    expect(decodeWebhookKey('whsec_YWI=')).toEqual(Buffer.from('ab'));
    expect(decodeWebhookKey('whsec_YWI')).toEqual(Buffer.from('ab'));
  });

  it.each(['', 'whsec_', 'whsec_not base64!', 'whsec_YWJ$'])('refuses the secret %j without showing it', (secret) => {
    const refusal = expect.objectContaining({
      code: 'bad_webhook_secret',
      message: expect.not.stringMatching(/base64!|YWJ/),
    });
    expect(() => decodeWebhookKey(secret)).toThrowError(refusal);
  });
});
