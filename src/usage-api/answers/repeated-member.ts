import type { UsageItem } from './check-item.ts';

/** `"data":0,`: no member of an answer takes less. */
const SHORTEST_MEMBER = 9;
/** The names and signs of an item. */
const ITEM_LENGTH = '{"tenant_id":"","period":"","period_start":"","period_end":"","credits_used":,"request_count":},'
  .length;

/**
 * The name of a member that stands twice in one object of this JSON text, or null. JSON's readers keep one of the two, so
 * what the other says would be lost without a word.
 *
 * `value` is what was read from the text. Its names and colons are as many as the text has, unless a member was lost.
 */
export function repeatedMember(text: string, value: unknown): string | null {
  // An escape may stand for a colon.
  if (!text.includes('\\') && colonsIn(text) === colonsNeeded(value)) return null;
  return findRepeated(text);
}

/** What was read of a page, and the message of its envelope. */
interface ReadPage {
  message: unknown;
  page: { usage: readonly UsageItem[] };
}

/** Whether the text is so short that it has no member but those that were read from it. */
export function hasNoRoomToRepeat(text: string, read: ReadPage): boolean {
  return text.length - leastLength(read) < SHORTEST_MEMBER;
}

/** In how many characters the page can be written at least. */
function leastLength({ message, page: { usage, ...data } }: ReadPage): number {
  const text = typeof message === 'string' ? message : undefined;
  let length = JSON.stringify({ message: text, success: true, data: { ...data, usage: [] } }).length - 1;
  for (const item of usage) {
    const texts = item.tenant_id.length + item.period.length + item.period_start.length + item.period_end.length;
    length += ITEM_LENGTH + texts + leastDigits(item.credits_used) + leastDigits(item.request_count);
  }
  return length;
}

/** At least: what ends in three zeros may be written with an exponent. */
function leastDigits(figure: number | bigint): number {
  if (typeof figure === 'bigint' || figure % 1000 === 0) return 1;
  let digits = figure < 0 ? 2 : 1;
  for (let bound = 10; bound <= Math.abs(figure); bound *= 10) digits++;
  return digits;
}

function colonsNeeded(value: unknown): number {
  let colons = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') colons += colonsIn(next);
    else if (Array.isArray(next)) for (const element of next) left.push(element);
    else if (typeof next === 'object' && next !== null) {
      for (const name in next) {
        colons += 1 + colonsIn(name);
        left.push((next as Record<string, unknown>)[name]);
      }
    }
  }
  return colons;
}

function colonsIn(text: string): number {
  let colons = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) colons++;
  return colons;
}

function findRepeated(text: string): string | null {
  const names: Set<string>[] = [];
  let latest = '';
  for (const [token] of text.matchAll(/"(?:[^"\\]+|\\.)*"|[{}[\]:]/g)) {
    if (token === '{' || token === '[') names.push(new Set());
    else if (token === '}' || token === ']') names.pop();
    else if (token !== ':') latest = token;
    else {
      const name = String(JSON.parse(latest));
      if (names.at(-1)?.has(name)) return name;
      names.at(-1)?.add(name);
    }
  }
  return null;
}
