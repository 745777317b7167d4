import { inertText } from '../../../core/text/inert-text.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text from anywhere as the text of an element, or of an attribute in quotes. */
export function escapeHtml(text: string): string {
  return inertText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
