import { readFileSync } from 'node:fs';
import { packageFile } from '../core/process/package-file.ts';

/** The style sheets of documents. The build writes them: tokens, base rules, and the rules of the kind of document. */
export type DocumentStyle = 'report' | 'statement';

const known = new Map<DocumentStyle, string>();

/** Returns the text of a document's style sheet, read on first use. */
export function documentStyle(name: DocumentStyle): string {
  const text = known.get(name) ?? readFileSync(packageFile('dist', `${name}.css`), 'utf8');
  known.set(name, text);
  return text;
}
