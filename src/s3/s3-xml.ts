/** What each element of this name holds: more elements, or text as it is written. */
export function elementsOf(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'));
  return [...found].map(([, inner = '']) => inner);
}

/** The text of the first element of this name; null where there is none. */
export function textOf(xml: string, name: string): string | null {
  const [first] = elementsOf(xml, name);
  return first === undefined ? null : unescaped(first);
}

/** One element with text in it. */
export function element(name: string, text: string): string {
  return `<${name}>${text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`)}</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}
