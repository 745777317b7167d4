import { createHmac } from 'node:crypto';
import { AppError } from '../../core/errors.ts';

const ENCODED_PREFIX = 'whsec_';

/**
 * Returns the signing key of a configured secret: `whsec_<base64>` is decoded, any other text is used as its UTF-8
 * bytes. Throws `bad_webhook_secret`, which never shows the secret, if the key is empty or not valid base64.
 */
export function decodeWebhookKey(secret: string): Buffer {
  if (!secret.startsWith(ENCODED_PREFIX)) return usable(Buffer.from(secret, 'utf8'));
  const encoded = secret.slice(ENCODED_PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Buffer skips invalid base64 characters, so a mistyped secret would give a key that differs from the receiver's.
  if (unpadded(key.toString('base64')) !== unpadded(encoded)) throw badSecret('is not base64 after whsec_');
  return usable(key);
}

/** Returns a signature for the header `webhook-signature` of Standard Webhooks: `v1,<base64 of HMAC-SHA256>`. */
export function signWebhook(key: Buffer, id: string, timestampSeconds: number, body: string): string {
  const mac = createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`, 'utf8');
  return `v1,${mac.digest('base64')}`;
}

function unpadded(base64: string): string {
  return base64.replace(/={0,2}$/, '');
}

function usable(key: Buffer): Buffer {
  if (key.length === 0) throw badSecret('is empty');
  return key;
}

function badSecret(fault: string): AppError {
  return new AppError('bad_webhook_secret', `the secret of a webhook channel ${fault}`, {
    hint: 'copy the secret again from the receiver, or leave the setting out to send without a signature',
  });
}
