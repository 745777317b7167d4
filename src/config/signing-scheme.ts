/** How requests are signed. The interface document leaves this open, so each part can be set. */
export interface SigningScheme {
  /** Template of the signed text: placeholders of `SIGNED_PARTS` in braces, and text that stands between them. */
  payload: string;
  encoding: 'hex' | 'base64' | 'base64url';
  validUntil: 'unix_seconds' | 'unix_millis' | 'iso8601';
  validForSeconds: number;
}

export const DEFAULT_SIGNING: Readonly<SigningScheme> = {
  payload: '{workspace_id}{valid_until}',
  encoding: 'hex',
  validUntil: 'unix_seconds',
  validForSeconds: 300,
};

/**
 * What can be signed. `path` and `query` are those of the request as it is sent, percent-encoded, the query without its
 * question mark; `body_sha256` is lower-case hex, of no bytes where there is no body.
 */
export const SIGNED_PARTS = [
  'workspace_id',
  'valid_until',
  'api_key_id',
  'method',
  'path',
  'query',
  'body_sha256',
] as const;
export type SignedPart = (typeof SIGNED_PARTS)[number];

/** A signed text, taken apart: placeholders, and text that is signed as it is. */
export type SignedText = ({ part: SignedPart } | { literal: string })[];

const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\r': '\r', '\\t': '\t', '\\\\': '\\' };

/**
 * Reads a template; gives what is wrong with it as a text. `\n`, `\r`, `\t` and `\\` stand for what they do elsewhere, so that
 * a line's end can be written in any quotes. Braces around anything but a name are text.
 */
export function parseSignedText(template: string): SignedText | string {
  const parsed: SignedText = [];
  for (const [token] of template.matchAll(/\{[\w -]*\}|\\.?|[^\\{]+|\{/gs)) {
    if (token.startsWith('\\')) {
      const literal = ESCAPES[token];
      if (literal === undefined) return 'has a backslash before something other than n, r, t or a backslash';
      parsed.push({ literal });
    } else if (token.startsWith('{') && token.endsWith('}')) {
      const part = SIGNED_PARTS.find((name) => token === `{${name}}`);
      // Only what looks like a name is repeated: a secret may have been put there by mistake.
      if (part === undefined)
        return /^\{[a-z_]{1,20}\}$/i.test(token)
          ? `has the unknown placeholder ${token}`
          : 'has an unknown placeholder';
      parsed.push({ part });
    } else parsed.push({ literal: token });
  }
  const expires = parsed.some((piece) => 'part' in piece && piece.part === 'valid_until');
  // A signature that does not cover its expiry could be used for ever.
  return expires ? parsed : 'does not contain {valid_until}';
}
