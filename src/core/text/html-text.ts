import { inertText } from './inert-text.ts';

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes outside text for HTML, between tags or in a quoted attribute. Active characters become visible escapes. */
export function htmlText(text: string): string {
  return escapeMarkup(inertText(text));
}

/** Escapes markup in text that contains no active characters. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? '');
}
