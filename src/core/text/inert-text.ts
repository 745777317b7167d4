/**
 * Characters that a terminal or browser acts on instead of showing: controls (including ANSI escapes and line breaks),
 * bidirectional and other format characters, invisible characters, line and paragraph separators, and lone surrogates.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Makes text from outside safe to show to a person. Each character that a terminal or browser acts on is replaced by an
 * escape such as `\u001b` (`\u{e0041}` above U+FFFF). Use the result only for display: text that already contains the
 * six characters `\u001b` looks the same.
 */
export function inertText(text: string): string {
  return text.replace(ACTIVE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/**
 * Escapes, in compact JSON text, the characters that a terminal or browser acts on. The meaning of the JSON does not
 * change: such characters can only occur inside strings, where `\uXXXX` parses back to the same character. Do not pass
 * text with line breaks between tokens.
 */
export function inertJson(json: string): string {
  return json.replace(ACTIVE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
