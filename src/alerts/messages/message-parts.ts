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
/** Besides its alerts, a message has at most this many bytes. */
const FRAME_BYTES = 2_000;

/**
 * Splits alerts, in order, into messages that are small enough for the receiver. An alert that is too large even alone
 * gets its own message.
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

/**
 * Compares alerts by the size of their change, largest first. For a likely alert, the change of its forecast is used.
 */
export function byChange(a: Rendered, b: Rendered): number {
  return compareFigures(changeSize(b), changeSize(a));
}

function changeSize({ notification }: Rendered): bigint {
  const change = monthCredits(notification) - BigInt(notification.credits?.previous ?? 0n);
  return change < 0n ? -change : change;
}
