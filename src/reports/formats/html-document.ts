import { htmlText } from '../../core/text/html-text.ts';

/** The content security policy of a self-contained page: inline styles only, no requests, no scripts. */
const NO_SOURCES = "default-src 'none'; style-src 'unsafe-inline'";

/** Settings for the start of a self-contained page. `script` is the source that the policy allows to run. */
interface DocumentHead {
  title: string;
  style: string;
  script?: string;
  language?: string;
  images?: boolean;
}

export function documentStart({ title, style, script, language = 'en', images = false }: DocumentHead): string {
  const policy = [NO_SOURCES, script && `script-src ${script}`, images && 'img-src data:'].filter(Boolean).join('; ');
  return `<!doctype html>
<html lang="${language}">
<head>
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
