/** How requests are signed. The API specification leaves this open, so each part can be set. */
export interface SigningScheme {
  /** The template of the signed text: names from `SIGNED_PARTS` in braces, with literal text between them. */
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
 * The parts of a request that can be signed. `path` and `query` are percent-encoded as sent, the query without its
 * question mark. `body_sha256` is lower-case hex; without a body it is the digest of zero bytes.
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

/** A parsed template: parts of a request and literal texts, in order. */
export type SignedText = ({ part: SignedPart } | { literal: string })[];

const TEMPLATE_ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\r': '\r', '\\t': '\t', '\\\\': '\\' };

/**
 * Parses a template, or returns its problem as text. `\n`, `\r`, `\t` and `\\` are escapes, so that a line break can be
 * written in any kind of quotes. Braces that do not enclose a name are literal.
 */
export function parseSignedText(template: string): SignedText | string {
  const parsed: SignedText = [];
  for (const [token] of template.matchAll(/\{[\w -]*\}|\\.?|[^\\{]+|\{/gs)) {
    if (token.startsWith('\\')) {
      const literal = TEMPLATE_ESCAPES[token];
      if (literal === undefined) return 'has a backslash before something other than n, r, t or a backslash';
      parsed.push({ literal });
    } else if (token.startsWith('{') && token.endsWith('}')) {
      const part = SIGNED_PARTS.find((name) => token === `{${name}}`);
      // Only a plausible name is repeated: the text may be a secret that was entered by mistake.
      if (part === undefined)
        return /^\{[a-z_]{1,20}\}$/i.test(token)
          ? `has the unknown placeholder ${token}`
          : 'has an unknown placeholder';
      parsed.push({ part });
    } else parsed.push({ literal: token });
  }
  const expires = parsed.some((piece) => 'part' in piece && piece.part === 'valid_until');
  // If the expiry is not signed, a signature could be used forever.
  return expires ? parsed : 'does not contain {valid_until}';
}
