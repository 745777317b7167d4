import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelRoute } from '../pipeline/route.ts';

/**
 * The alerts that an acknowledge link acknowledges: one alert, or all alerts of a message (`msg_...`), while their
 * conditions hold.
 */
export interface AcknowledgeTarget {
  id: string;
  /** The episode of the alert, so that the link cannot acknowledge a later episode; 0 for a message. */
  episode: number;
  channel: string;
}

export const ACKNOWLEDGE_PATH = '/acknowledge';
const SIGNATURE_CHARACTERS = 32;

/** Returns the address of the page that acknowledges an alert or a message; null if no public address is configured. */
export function acknowledgeLink(
  { publicUrl, linkKey, channel }: Pick<ChannelRoute, 'channel' | 'publicUrl' | 'linkKey'>,
  id: string,
  episode = 0,
): string | null {
  if (publicUrl === undefined || linkKey === undefined) return null;
  const signature = signatureOf(linkKey, { id, episode, channel });
  return `${publicUrl}${ACKNOWLEDGE_PATH}/${id}/${episode}/${encodeURIComponent(channel)}/${signature}`;
}

/** Reports whether a link was signed with the key. */
export function isSigned(linkKey: string, target: AcknowledgeTarget, signature: string): boolean {
  const [given, made] = [signature, signatureOf(linkKey, target)].map((text) => Buffer.from(text));
  return given !== undefined && made !== undefined && given.length === made.length && timingSafeEqual(given, made);
}

function signatureOf(linkKey: string, { id, episode, channel }: AcknowledgeTarget): string {
  const signed = createHmac('sha256', linkKey).update(JSON.stringify([id, episode, channel]));
  return signed.digest('base64url').slice(0, SIGNATURE_CHARACTERS);
}
