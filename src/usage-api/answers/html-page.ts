/** The visible text of an HTML page. */
export interface PageText {
  /** Empty if the page has no title. */
  title: string;
  body: string;
}

const INVISIBLE_MARKUP = /<!--[\s\S]*?(?:-->|$)|<(script|style|noscript|template|head)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;
const DECODED_ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  lt: '<',
  gt: '>',
};

/**
 * Extracts the title and text of a page for an error message. It uses patterns instead of a parser, because only error
 * messages depend on the result. The result may contain `<`, decoded from an entity.
 */
export function visibleText(html: string): PageText {
  const title = /<title[^>]*>([\s\S]{0,1000}?)<\/title/i.exec(html)?.[1] ?? '';
  return { title: stripMarkup(title), body: stripMarkup(html.replace(INVISIBLE_MARKUP, ' ')) };
}

function stripMarkup(markup: string): string {
  return decodeEntities(markup.replace(/<[^>]*(?:>|$)/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (entity, decimal, hex, name) => {
    if (name !== undefined) return DECODED_ENTITIES[String(name).toLowerCase()] ?? entity;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : ' ';
  });
}
