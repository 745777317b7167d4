import { inertText } from './inert-text.ts';

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes outside text for HTML that no component renders, between tags or in a quoted attribute. Active characters become
 * visible escapes.
 */
export function htmlText(text: string): string {
  return inertText(text).replace(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? '');
}
