/**
 * Characters that a terminal or browser acts on instead of showing: controls (including ANSI escapes and line breaks),
 * bidirectional and other format characters, invisible characters, line and paragraph separators, and lone surrogates.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Makes outside text safe to show to a person. Each active character becomes `\u001b` (`\u{e0041}` above U+FFFF); all
 * others stay. Use the result only for display: text that literally contains `\u001b` looks the same.
 */
export function inertText(text: string): string {
  return text.replace(ACTIVE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/**
 * Escapes active characters in compact JSON text without changing its meaning. Such characters can only occur inside
 * strings, where `\uXXXX` parses back to the same character. Do not pass text with line breaks between tokens.
 */
export function inertJson(json: string): string {
  return json.replace(ACTIVE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
