import { Parser } from 'htmlparser2';
import { DamagedArchive } from '../zip-archive.ts';

export type Attributes = Readonly<Record<string, string>>;

/**
 * Receives the elements of an XML text. Element names are passed without their namespace prefix, because not all
 * programs write one.
 */
export interface XmlHandler {
  open(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

const XML_CHUNK_BYTES = 1024 * 1024;

/**
 * Parses one XML part of a workbook. Throws DamagedArchive if the text ends before the end of its root element, or if
 * it cannot be decoded. Entities that a DTD defines are not expanded.
 */
export function parseXml(bytes: Buffer, handler: XmlHandler): void {
  let depth = 0;
  let isComplete = false;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        handler.open(localName(name), attributes);
      },
      onclosetag(name) {
        depth -= 1;
        isComplete = depth === 0;
        handler.close?.(localName(name));
      },
      ontext: (text) => handler.text?.(text),
    },
    { xmlMode: true, decodeEntities: true },
  );
  const decoder = new TextDecoder(encodingOf(bytes), { fatal: true });
  try {
    for (let at = 0; at < bytes.length; at += XML_CHUNK_BYTES) {
      parser.write(decoder.decode(bytes.subarray(at, at + XML_CHUNK_BYTES), { stream: true }));
    }
  } catch (error) {
    throw error instanceof TypeError ? new DamagedArchive() : error;
  }
  // `end` closes all open elements, so whether the text is complete is checked before.
  if (!isComplete) throw new DamagedArchive();
  parser.end();
}

function encodingOf(bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2);
  return mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Returns the attribute with this name, with any namespace prefix: `id` also finds `r:id`. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  const key = Object.keys(attributes).find((each) => localName(each) === name);
  return key === undefined ? undefined : attributes[key];
}

/**
 * Replaces escapes such as `_x000D_` by their characters. Workbooks use these escapes for characters that XML does not
 * allow.
 */
export function unescapeText(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
