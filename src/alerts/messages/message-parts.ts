import { compareFigures } from '../state/alert-figures.ts';
import type { Notification } from './facts/facts.ts';
import { monthCredits } from './facts/phrases.ts';

export interface Rendered {
  notification: Notification;
  bytes: number;
}

export interface MadeMessage<T> {
  notificationId: string;
  payload: string;
  members: readonly T[];
}

export interface Part {
  part: number;
  parts: number;
}

const MAX_MEMBERS = 100;
/** Largest size of a message in bytes: many receivers refuse 200 kB or more. */
export const MAX_BYTES = 180_000;
/** Upper bound for the bytes of a message besides its members. */
const FRAME_BYTES = 2_000;

/**
 * Splits members, in order, into messages that receivers accept. A member that is too large by itself gets its own
 * message.
 */
export function inParts<T extends Rendered>(
  members: readonly T[],
  mostBytes: number,
  make: (own: readonly T[], part: Part) => Omit<MadeMessage<T>, 'members'>,
): MadeMessage<T>[] {
  const parts: T[][] = [];
  let room = 0;
  for (const member of members) {
    const part = parts.at(-1);
    if (part === undefined || part.length === MAX_MEMBERS || member.bytes > room) {
      parts.push([member]);
      room = mostBytes - FRAME_BYTES - member.bytes;
    } else {
      part.push(member);
      room -= member.bytes;
    }
  }
  return parts.map((own, index) => ({ ...make(own, { part: index + 1, parts: parts.length }), members: own }));
}

/** Compares members by the size of their change, largest first. Likely alerts count with their forecast. */
export function byChange(a: Rendered, b: Rendered): number {
  return compareFigures(changeSize(b), changeSize(a));
}

function changeSize({ notification }: Rendered): bigint {
  const change = monthCredits(notification) - BigInt(notification.credits?.previous ?? 0n);
  return change < 0n ? -change : change;
}
