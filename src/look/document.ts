import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { htmlText } from '../core/text/html-text.ts';
import { inertText } from '../core/text/inert-text.ts';

/** The content type of a page. */
export const HTML_CONTENT_TYPE = 'text/html; charset=utf-8';

/**
 * Renders components to HTML that shows any text as it is. Markup in a text is escaped. A character that a browser
 * would obey and not show, such as one that changes the writing direction, becomes a visible escape.
 */
export function renderInert(content: VNode): string {
  return inertText(renderToString(content));
}

/** The head of a document in a single file. The document loads nothing, and runs at most the script with this hash. */
export interface DocumentHead {
  title: string;
  /** The text of its style sheet. */
  style: string;
  language?: string;
  /** The SHA-256 of its script in base64. Null if it has no script. */
  scriptHash?: string | null;
}

/** Renders a document as a single file. Equal arguments give an equal document. */
export function renderDocument(head: DocumentHead, content: VNode): string {
  return `${documentStart(head)}${renderInert(content)}${DOCUMENT_END}`;
}

/** Renders a document up to the start of `main`. The caller then writes the content of `main`, and `DOCUMENT_END`. */
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
