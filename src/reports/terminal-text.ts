/**
 * Characters that a terminal acts upon or that a reader cannot see: control characters (line breaks and tabs too),
 * format characters such as bidi overrides and zero-width joiners, other invisible characters, separators that break
 * lines, and surrogates without their partner.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Makes text from outside inert and honest on a terminal: whatever could move the cursor, recolour, reorder or hide is
 * shown as `\u001b` (or `\u{e0041}` above U+FFFF). The result is one line. Ordinary text of any script is unchanged.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}
