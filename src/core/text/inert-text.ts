/**
 * Characters that act on what shows them instead of being shown: controls (with ANSI's escape and line breaks), bidi and
 * other format characters, invisible ones, separators of lines and paragraphs, and lone surrogates.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Makes text from outside safe to show to a person: each active character becomes `\u001b` (`\u{e0041}` above U+FFFF),
 * all others stay. For display only: a name that spells out such an escape looks the same, so never parse the result.
 */
export function inertText(text: string): string {
  return text.replace(ACTIVE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/**
 * The same for compact JSON text, without changing what it says: active characters can only stand inside its strings,
 * where `\uXXXX` parses back to the very same character. Text with line breaks between its tokens must not be passed.
 */
export function inertJson(json: string): string {
  return json.replace(ACTIVE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
