import { readFileSync } from 'node:fs';
import { packageFile } from '../core/process/package-file.ts';

/**
 * The kinds of documents. For each the build writes a style sheet with the tokens, the base rules and its own rules.
 */
export type DocumentStyle = 'report' | 'statement';

const known = new Map<DocumentStyle, string>();

/** Returns the text of a document's style sheet, read on first use. */
export function documentStyle(name: DocumentStyle): string {
  const text = known.get(name) ?? readFileSync(packageFile('dist', `${name}.css`), 'utf8');
  known.set(name, text);
  return text;
}
