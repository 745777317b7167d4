import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelRoute } from '../pipeline/route.ts';

/** Whom a link acknowledges: an alert, or the alerts of a message (`msg_...`); for as long as that goes on. */
export interface AcknowledgeTarget {
  id: string;
  /** Of an alert: one that ended and began again is another matter. 0 for a message. */
  episode: number;
  channel: string;
}

export const ACKNOWLEDGE_PATH = '/acknowledge';
const SIGNATURE_CHARACTERS = 32;

/** The address at which whoever got the message says that they look after it; null where people reach no pages. */
export function acknowledgeLink(
  { publicUrl, linkKey, channel }: Pick<ChannelRoute, 'channel' | 'publicUrl' | 'linkKey'>,
  id: string,
  episode = 0,
): string | null {
  if (publicUrl === undefined || linkKey === undefined) return null;
  const signature = signatureOf(linkKey, { id, episode, channel });
  return `${publicUrl}${ACKNOWLEDGE_PATH}/${id}/${episode}/${encodeURIComponent(channel)}/${signature}`;
}

/** Whether a link was made by who has the key. */
export function isSigned(linkKey: string, target: AcknowledgeTarget, signature: string): boolean {
  const [given, made] = [signature, signatureOf(linkKey, target)].map((text) => Buffer.from(text));
  return given !== undefined && made !== undefined && given.length === made.length && timingSafeEqual(given, made);
}

function signatureOf(linkKey: string, { id, episode, channel }: AcknowledgeTarget): string {
  const signed = createHmac('sha256', linkKey).update(JSON.stringify([id, episode, channel]));
  return signed.digest('base64url').slice(0, SIGNATURE_CHARACTERS);
}
