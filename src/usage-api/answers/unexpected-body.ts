import { inertText } from '../../core/text/inert-text.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { counted } from '../../core/text/words.ts';
import type { EndpointLabel } from '../errors.ts';
import { visibleText } from './html-page.ts';
import { cleanServerText, describeValue } from './server-text.ts';

/** The HTTP response to which a body belongs. */
export interface ResponseFacts {
  endpoint: EndpointLabel;
  /** The HTTP status; absent if the body was passed without its response. */
  status?: number | undefined;
  /** The Content-Type; null if the response had none. */
  contentType?: string | null | undefined;
  /** Removes known secrets. Without it, the body is not quoted. */
  redact?: Redactor | undefined;
}

/** A description, for errors, of a body that should have been an envelope of the API, with the remedy. */
export interface BodyDescription {
  text: string;
  hint: string;
  /** True if something other than the API responded, such as a web server or a proxy. */
  isForeign: boolean;
}

/** Number of characters of a body that are examined. */
const SAMPLE_LENGTH = 16_384;
/** This many last characters of a cut body are never quoted: half a secret at the cut would not be recognized. */
const UNSAFE_TAIL_LENGTH = 2_048;
const EXCERPT_LENGTH = 100;
const MAX_CONTENT_TYPE_LENGTH = 60;
const MAX_FIELDS = 3;

/**
 * Describes a body that is not the API's JSON, such as `a login page (status 200, text/html) that begins "Sign in"`.
 * It is called only after a request has failed. `status` only helps to recognize the kind of body: the error already
 * names it. Quoted text is one line, redacted, without control characters and at most 100 characters long.
 */
export function describeBody(
  body: Uint8Array,
  response: ResponseFacts,
  status = response.status ?? 0,
): BodyDescription {
  const { kind, words } = recognize(body, status, response.redact);
  const { name, remedy } = BODY_KINDS[kind];
  const facts = factsText(response);
  const begins = words === null || !mayQuote(kind, response) ? '' : excerpt(words, response.redact);
  const size = kind === 'truncated_json' ? ` after ${counted(body.byteLength, 'byte')}` : '';
  return {
    text: `${name}${size}${facts}${begins === '' ? '' : ` that begins ${begins}`}`,
    hint: remedy(settingOf(response)),
    isForeign: kind !== 'empty',
  };
}

/** Describes JSON that is not an envelope of the API, such as `JSON with "detail": "Not Found" (status 404, application/json)`. */
export function describeJson(value: unknown, response: ResponseFacts): BodyDescription {
  const hint = BODY_KINDS.other_json.remedy(settingOf(response));
  return { text: `${fieldsText(value, response)}${factsText(response)}`, hint, isForeign: false };
}

function fieldsText(value: unknown, response: ResponseFacts): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `JSON that is ${Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'null' : `a ${typeof value}`}`;
  }
  const { redact } = response;
  const fields = Object.entries(value);
  if (fields.length === 0 || redact === undefined) return 'JSON of another form';
  const shown = fields.slice(0, MAX_FIELDS).map(([name, field]) => {
    const label = inertText(describeValue(name, redact));
    return mayHoldToken(response) ? label : `${label}: ${inertText(describeValue(messageIn(field), redact))}`;
  });
  return `JSON with ${shown.join(', ')}${fields.length > MAX_FIELDS ? ` and ${counted(fields.length - MAX_FIELDS, 'more field')}` : ''}`;
}

/** Many APIs nest the message of an error: `{"error": {"message": "…"}}`. */
function messageIn(field: unknown): unknown {
  const nested = typeof field === 'object' && field !== null && 'message' in field ? field.message : field;
  return typeof nested === 'string' ? nested : field;
}

function factsText({ status, contentType, redact }: ResponseFacts): string {
  if (status === undefined && contentType === undefined) return '';
  const type = contentType == null ? '' : inertText(cleanServerText(contentType, redact));
  const label = type === '' ? 'no content type' : type.slice(0, MAX_CONTENT_TYPE_LENGTH);
  return status === undefined ? ` (${label})` : ` (status ${status}, ${label})`;
}

/** Reports whether the body may hold an embed token, which no redactor knows. */
function mayHoldToken({ endpoint }: ResponseFacts): boolean {
  return endpoint === 'generate embed token';
}

function mayQuote(kind: BodyKind, response: ResponseFacts): boolean {
  return response.redact !== undefined && (!mayHoldToken(response) || BODY_KINDS[kind].isPage);
}

function settingOf({ endpoint }: ResponseFacts): string {
  return endpoint === 'generate embed token' ? 'embed_url' : 'base_url';
}

function excerpt(words: string, redact: Redactor | undefined): string {
  const text = inertText(cleanServerText(words, redact))
    .replace(/[<>\s]+/g, ' ')
    .trim();
  if (text === '') return '';
  const cut = text.length <= EXCERPT_LENGTH ? text : `${text.slice(0, EXCERPT_LENGTH).replace(/\s\S*$/, '')} …`;
  return cut.includes('"') ? `'${cut}'` : `"${cut}"`;
}

interface KindDescription {
  name: string;
  /** The remedy as an imperative; `setting` is the setting that holds the address. */
  remedy: (setting: string) => string;
  /** True for an HTML page, which may be quoted: it is written for people and holds no token. */
  isPage: boolean;
}

const otherBody = (name: string, remedy: (setting: string) => string): KindDescription => ({
  name,
  remedy,
  isPage: false,
});
const pageBody = (name: string, remedy: (setting: string) => string): KindDescription => ({
  name,
  remedy,
  isPage: true,
});

const BODY_KINDS = {
  empty: otherBody(
    'an empty body',
    (setting) => `check ${setting} and any proxy on the way; if both are right, report this to the service operator`,
  ),
  login_page: pageBody(
    'a login page',
    (setting) =>
      `set ${setting} to the address of the API: it leads to a web application, or a proxy on the way asks for a login`,
  ),
  network_login: pageBody(
    'the login page of a network (captive portal)',
    () => 'log this machine in to its network, or use another network',
  ),
  firewall_page: pageBody(
    'the page of a firewall or bot check',
    (setting) => `check ${setting}, and ask the service operator to let API requests from this machine pass`,
  ),
  maintenance_page: pageBody('a maintenance page', () => 'wait until the maintenance is over; nothing was recorded'),
  gateway_page: pageBody(
    'an error page of a proxy or load balancer',
    () =>
      'wait and try again: the service behind the proxy did not answer; if it persists, report this to the service operator',
  ),
  web_page: pageBody('a web page', (setting) => `check ${setting}: a web server answers there, not the API`),
  xml: otherBody('XML', (setting) => `check ${setting}: another API answers there`),
  gateway_text: otherBody(
    'an error text of a proxy or load balancer',
    () =>
      'wait and try again: the service behind the proxy did not answer; if it persists, report this to the service operator',
  ),
  compressed: otherBody(
    'compressed data without the header Content-Encoding',
    () =>
      'check any proxy on the way: it may compress responses or remove headers; if there is none, report this to the service operator',
  ),
  binary: otherBody(
    'data that is not text',
    (setting) => `check ${setting}, and any proxy on the way that changes responses`,
  ),
  truncated_json: otherBody(
    'truncated JSON',
    () =>
      'check any proxy on the way: it may limit the length or the duration of a response; if there is none, report this to the service operator',
  ),
  broken_json: otherBody('JSON with a syntax error', () => 'report this to the service operator'),
  other_json: otherBody('JSON of another form', (setting) => `check ${setting}: another API seems to answer there`),
  plain_text: otherBody(
    'plain text',
    (setting) => `check ${setting} and any proxy on the way: the API answers in JSON`,
  ),
} satisfies Record<string, KindDescription>;
type BodyKind = keyof typeof BODY_KINDS;

interface Recognized {
  kind: BodyKind;
  /** The text that a person would read first; null if nothing can be quoted. */
  words: string | null;
}

function recognize(body: Uint8Array, status: number, redact: Redactor = (text) => text): Recognized {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (isCompressed(bytes)) return { kind: 'compressed', words: null };
  const sample = bytes.toString('utf8', 0, SAMPLE_LENGTH).replace(/^\ufeff/, '');
  // Redact before markup is removed: part of a secret may look like markup.
  const text = redact(sample.trim());
  if (text === '') return { kind: 'empty', words: null };
  if (isBinary(text)) return { kind: 'binary', words: null };
  const isCut = bytes.byteLength > SAMPLE_LENGTH;
  const words = (read: string) => (isCut ? read.slice(0, Math.max(0, read.length - UNSAFE_TAIL_LENGTH)) : read);
  if (text.startsWith('<')) {
    const { title, body: visible } = visibleText(text);
    const isXml = /^<\?xml/i.test(text) && !/<html/i.test(text);
    const kindOf = isXml ? 'xml' : pageKind(text, `${title} ${visible}`, status);
    return { kind: kindOf, words: title === '' ? words(visible) : title };
  }
  if (/^[[{]/.test(text)) return { kind: endsEarly(bytes) ? 'truncated_json' : 'broken_json', words: words(text) };
  return { kind: GATEWAY.test(text) ? 'gateway_text' : 'plain_text', words: words(text) };
}

const NETWORK_LOGIN = /captive|hotspot|wi-?fi|guest network|network (?:log-?in|sign-?in|authentication)/i;
const PASSWORD_FIELD = /<input[^>]{1,300}type\s*=\s*["']?password/i;
const FIREWALL =
  /just a moment|attention required|checking your browser|verify (?:that )?you are (?:a )?human|captcha|access denied|request (?:was )?blocked|security check/i;
const MAINTENANCE = /maintenance|be right back/i;
const GATEWAY =
  /bad gateway|gateway time-?out|service (?:is )?(?:temporarily )?unavailable|proxy error|upstream|web server is down|no (?:healthy|available) (?:server|upstream|backend)|error (?:code:? )?5\d\d/i;
const LOGIN_PAGE =
  /\b(?:sign|log)[\s-]?(?:in|on)\b|single sign-?on|\bSSO\b|<form[^>]{1,300}(?:log-?in|sign-?in|saml|oauth)|(?:location[^;>]{0,20}=|http-equiv=["']?refresh)[^>;]{0,300}(?:log-?in|sign-?in|sso|auth)/i;

/** Classifies an HTML page by its markup and its visible text. */
function pageKind(html: string, shown: string, status: number): BodyKind {
  if (NETWORK_LOGIN.test(shown)) return 'network_login';
  if (PASSWORD_FIELD.test(html)) return 'login_page';
  if (FIREWALL.test(shown)) return 'firewall_page';
  if (MAINTENANCE.test(shown)) return 'maintenance_page';
  if (status >= 500 || GATEWAY.test(shown)) return 'gateway_page';
  return LOGIN_PAGE.test(shown) || LOGIN_PAGE.test(html) ? 'login_page' : 'web_page';
}

/** The first bytes of gzip, zstd and zlib. */
const COMPRESSED = ['1f8b08', '28b52ffd', '789c', '7801', '78da'];

function isCompressed(bytes: Buffer): boolean {
  const start = bytes.toString('hex', 0, 4);
  return COMPRESSED.some((magic) => start.startsWith(magic)) && !isText(bytes);
}

function isText(bytes: Buffer): boolean {
  return !isBinary(bytes.toString('utf8', 0, SAMPLE_LENGTH));
}

/** Reports whether more than one character in ten is a control character or not UTF-8. */
function isBinary(text: string): boolean {
  const odd = text.match(/[^\P{Cc}\s]|\ufffd/gu)?.length ?? 0;
  return odd * 10 > text.length;
}

const [QUOTE_BYTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);

/** Reports whether the text ends inside a string, an object or an array. */
function endsEarly(json: Buffer): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE_BYTE) isInString = false;
    } else if (byte === QUOTE_BYTE) isInString = true;
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
  }
  return isInString || depth > 0;
}
