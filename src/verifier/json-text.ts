/** JSON in one line, with all digits of bigints. By hand, because `JSON.rawJSON` is younger than the Node of many an auditor. */
export function exactJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(exactJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${exactJson(inner)}`);
  return `{${members.join(',')}}`;
}

/** JSON text without the space between its tokens. Two texts of one compact form are told from each other by nobody. */
export function compactJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, '$1');
}

/** JSON text with each character outside of ASCII escaped, whichever of them its writer has escaped. */
export function asciiJson(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
