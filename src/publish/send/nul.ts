/**
 * Postgres has no text with U+0000 in it, and an identifier of the service may have one: in the replica it is `␀0`, and the
 * sign itself, which nobody uses, is doubled. So different texts stay different, and a rebuilt ledger has the first one.
 */
const SIGN = '␀';

export function escapeNul(text: string): string {
  if (!text.includes('\0') && !text.includes(SIGN)) return text;
  return text.replaceAll(SIGN, SIGN + SIGN).replaceAll('\0', `${SIGN}0`);
}

export function unescapeNul(text: string): string {
  if (!text.includes(SIGN)) return text;
  return text.replace(/␀(␀|0)/g, (_, sign) => (sign === '0' ? '\0' : SIGN));
}
