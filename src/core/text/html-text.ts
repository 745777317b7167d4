import { inertText } from './inert-text.ts';

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes text from outside for HTML that is built as a string, between tags or in a quoted attribute. (Components
 * escape their own text.) Control and invisible characters become visible, such as `\u001b`.
 */
export function htmlText(text: string): string {
  return inertText(text).replace(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? '');
}
