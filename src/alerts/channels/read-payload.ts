import { parseExact } from '../../core/text/exact-json.ts';
import { inertText } from '../../core/text/inert-text.ts';

/** A value in the JSON of a stored notification. Whole numbers are bigints. */
export type PayloadValue =
  | string
  | bigint
  | number
  | boolean
  | null
  | PayloadValue[]
  | { [name: string]: PayloadValue };
export type Payload = Record<string, PayloadValue>;

/** Parses a stored notification and makes its strings inert; null if it is not a JSON object. */
export function readPayload(payload: string): Payload | null {
  try {
    const value = parseExact(payload, inertStrings);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns the alerts of a daily summary, in its order; null for other notifications. */
export function alertsOfSummary({ type, alerts }: Payload): Payload[] | null {
  return type === 'alert.digest' && Array.isArray(alerts) ? alerts.filter(isRecord) : null;
}

/** Returns the alerts of a group, in its order; null for other notifications. */
export function alertsOfGroup({ type, alerts }: Payload): Payload[] | null {
  return type === 'alert.group' && Array.isArray(alerts) ? alerts.filter(isRecord) : null;
}

function inertStrings(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? inertText(value) : value;
}

function isRecord(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
