/** What a person reads of an HTML page, as plain text. */
export interface PageText {
  /** Empty when the page has none. */
  title: string;
  body: string;
}

const UNSEEN = /<!--[\s\S]*?(?:-->|$)|<(script|style|noscript|template|head)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', quot: '"', apos: "'", nbsp: ' ', lt: '<', gt: '>' };

/**
 * The title and the text of a page, for an error message. An approximation by patterns: the pages are short error and login pages, and
 * nothing but a message depends on it. It may hold `<` again, by way of an entity.
 */
export function visibleText(html: string): PageText {
  const title = /<title[^>]*>([\s\S]{0,1000}?)<\/title/i.exec(html)?.[1] ?? '';
  return { title: plain(title), body: plain(html.replace(UNSEEN, ' ')) };
}

function plain(markup: string): string {
  return decodeEntities(markup.replace(/<[^>]*(?:>|$)/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? entity;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : ' ';
  });
}
