import { createHash } from 'node:crypto';

/** What a signed text can be made of, by the names that a scenario's template has for it in braces. */
export interface SignedValues {
  workspace_id: string;
  valid_until: string;
  api_key_id: string;
  method: string;
  /** As received: percent-encoded, without the query. */
  path: string;
  /** As received, without the question mark. */
  query: string;
  body: Buffer;
}

const NAMES = ['workspace_id', 'valid_until', 'api_key_id', 'method', 'path', 'query', 'body_sha256'];
const LINE_BREAKS: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };

/** What is wrong with a template; null when it can be used. */
export function templateMistake(template: string): string | null {
  if (/(?:^|[^\\])(?:\\\\)*\\(?![nrt\\])/.test(template)) return 'has an unknown escape';
  const names = [...template.matchAll(/\{([\w -]*)\}/g)].map(([, name = '']) => name);
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) return `has the unknown placeholder {${unknown}}`;
  return names.includes('valid_until') ? null : 'does not contain {valid_until}';
}

/** The text that a request has to be signed by. Values are put in once: what stands in them is never a placeholder. */
export function signedText(template: string, values: SignedValues): string {
  return template.replace(/\{([\w -]*)\}|\\(.)/g, (_, name: string | undefined, escaped: string | undefined) => {
    if (escaped !== undefined) return LINE_BREAKS[escaped] ?? '';
    if (name === 'body_sha256') return createHash('sha256').update(values.body).digest('hex');
    return String(values[name as Exclude<keyof SignedValues, 'body'>]);
  });
}
