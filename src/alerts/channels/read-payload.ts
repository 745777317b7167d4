import { parseExact } from '../../core/text/exact-json.ts';
import { inertText } from '../../core/text/inert-text.ts';

export type PayloadValue =
  | string
  | bigint
  | number
  | boolean
  | null
  | PayloadValue[]
  | { [name: string]: PayloadValue };
export type Payload = Record<string, PayloadValue>;

export function readPayload(payload: string): Payload | null {
  try {
    const value = parseExact(payload, inertStrings);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** The alerts of a daily summary, in its order; null for every other notification. */
export function summaryItems({ type, alerts }: Payload): Payload[] | null {
  return type === 'alert.digest' && Array.isArray(alerts) ? alerts.filter(isRecord) : null;
}

export function groupItems({ type, alerts }: Payload): Payload[] | null {
  return type === 'alert.group' && Array.isArray(alerts) ? alerts.filter(isRecord) : null;
}

function inertStrings(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? inertText(value) : value;
}

function isRecord(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
