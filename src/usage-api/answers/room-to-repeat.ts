import type { UsageItem } from './check-item.ts';

/** Length of `"data":0,`, the shortest possible member of a response. */
const SHORTEST_MEMBER_LENGTH = 9;
const EMPTY_ITEM_LENGTH =
  '{"tenant_id":"","period":"","period_start":"","period_end":"","credits_used":,"request_count":},'.length;

interface ParsedPage {
  message: unknown;
  page: { usage: readonly UsageItem[] };
}

/** Reports whether the text is too short to hold another member than those parsed from it, such as a duplicate. */
export function cannotHoldDuplicates(text: string, read: ParsedPage): boolean {
  return text.length - leastLength(read) < SHORTEST_MEMBER_LENGTH;
}

/** Returns the shortest possible length of the page as JSON, in characters. */
function leastLength({ message, page: { usage, ...data } }: ParsedPage): number {
  const text = typeof message === 'string' ? message : undefined;
  let length = JSON.stringify({ message: text, success: true, data: { ...data, usage: [] } }).length - 1;
  for (const item of usage) {
    const texts = item.tenant_id.length + item.period.length + item.period_start.length + item.period_end.length;
    length += EMPTY_ITEM_LENGTH + texts + leastDigits(item.credits_used) + leastDigits(item.request_count);
  }
  return length;
}

/** Returns the fewest characters for a figure. A figure that ends in three zeros may be shortened with an exponent. */
function leastDigits(figure: number | bigint): number {
  if (typeof figure === 'bigint' || figure % 1000 === 0) return 1;
  let digits = figure < 0 ? 2 : 1;
  for (let bound = 10; bound <= Math.abs(figure); bound *= 10) digits++;
  return digits;
}
