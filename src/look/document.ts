import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { htmlText } from '../core/text/html-text.ts';
import { inertText } from '../core/text/inert-text.ts';

/** The content type of a page. */
export const HTML_TYPE = 'text/html; charset=utf-8';

/**
 * Renders components. They escape markup; characters that a browser would act on instead of showing, such as a change of
 * the writing direction in a tenant's name, become visible escapes.
 */
export function renderInert(content: VNode): string {
  return inertText(renderToString(content));
}

/** The head of a document that is one file: it loads nothing and runs at most the script that `scriptHash` allows. */
export interface DocumentHead {
  title: string;
  /** The text of its style sheet. */
  style: string;
  language?: string;
  /** The SHA-256 of its script in base64. Null if it has no script. */
  scriptHash?: string | null;
}

/** Renders a document that is one file. Its content depends on the arguments only. */
export function selfContained(head: DocumentHead, content: VNode): string {
  return `${documentStart(head)}${renderInert(content)}${DOCUMENT_END}`;
}

/** Renders the start of a document up to the content of `main`. The content follows in pieces, then `DOCUMENT_END`. */
export function documentStart({ title, style, language = 'en', scriptHash = null }: DocumentHead): string {
  const script = scriptHash === null ? '' : `; script-src 'sha256-${scriptHash}'`;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; img-src data:${script}`;
  return `<!doctype html>
<html lang="${language}"><head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${htmlText(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
`;
}

export const DOCUMENT_END = '</main>\n</body>\n</html>\n';
