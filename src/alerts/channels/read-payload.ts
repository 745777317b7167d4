import { parse } from 'lossless-json';
import { inertText } from '../../core/inert-text.ts';

export type PayloadValue =
  | string
  | bigint
  | number
  | boolean
  | null
  | PayloadValue[]
  | { [name: string]: PayloadValue };
export type Payload = Record<string, PayloadValue>;

/** A stored notification with exact numbers and inert strings; null when it is not a JSON object. */
export function readPayload(payload: string): Payload | null {
  try {
    const value = parse(payload, inertStrings, exactNumber);
    return isRecord(value) ? (value as Payload) : null;
  } catch {
    return null;
  }
}

function inertStrings(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? inertText(value) : value;
}

function exactNumber(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
