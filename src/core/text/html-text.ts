import { inertText } from './inert-text.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text from outside as it may stand in HTML, between tags or in a quoted attribute; characters that act are shown. */
export function htmlText(text: string): string {
  return escapeMarkup(inertText(text));
}

/** The same for text whose acting characters have been dealt with. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
