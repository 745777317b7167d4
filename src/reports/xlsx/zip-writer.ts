import { writeSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';
import { AppError } from '../../core/errors.ts';

const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const VERSION = 20;
const DEFLATED = 8;
/** The first of January 1980, where the format's time begins: the same rows give the same bytes. */
const DATE = 0x21;
const LARGEST = 0xffff_ffff;

/** Writes a ZIP file of texts, without holding any of them in memory. */
export class ZipWriter {
  readonly #file: number;
  readonly #directory: Buffer[] = [];
  #at = 0;

  /** `file` is an empty file that is open for writing. */
  constructor(file: number) {
    this.#file = file;
  }

  async add(name: string, pieces: Iterable<string>): Promise<void> {
    const nameBytes = Buffer.from(name);
    const start = this.#at;
    const begin = start + LOCAL_BYTES + nameBytes.length;
    this.#at = begin;
    const seen = { size: 0, crc: 0 };
    const bytes = function* (): Generator<Buffer> {
      for (const piece of pieces) {
        const data = Buffer.from(piece);
        seen.size += data.length;
        seen.crc = crc32(data, seen.crc);
        yield data;
      }
    };
    await pipeline(bytes, createDeflateRaw(), async (packed: AsyncIterable<Buffer>) => {
      for await (const data of packed) this.#write(data);
    });
    this.#describe(nameBytes, { ...seen, start, packed: this.#at - begin });
  }

  end(): void {
    const directory = Buffer.concat(this.#directory);
    const end = Buffer.alloc(END_BYTES);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(this.#directory.length / 2, 8);
    end.writeUInt16LE(this.#directory.length / 2, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(this.#at, 16);
    this.#write(directory);
    this.#write(end);
  }

  /** What is known of a part once it is written stands before it and in the directory. */
  #describe(name: Buffer, part: { start: number; size: number; packed: number; crc: number }): void {
    if (this.#at > LARGEST || part.size > LARGEST) {
      throw new AppError('export_failed', 'the file exceeds 4 GiB', {
        hint: 'write less into it, such as fewer views or workspaces',
      });
    }
    const facts = Buffer.alloc(LOCAL_BYTES - 4);
    facts.writeUInt16LE(VERSION, 0);
    facts.writeUInt16LE(DEFLATED, 4);
    facts.writeUInt16LE(DATE, 8);
    facts.writeUInt32LE(part.crc, 10);
    facts.writeUInt32LE(part.packed, 14);
    facts.writeUInt32LE(part.size, 18);
    facts.writeUInt16LE(name.length, 22);
    const central = Buffer.alloc(CENTRAL_BYTES);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(VERSION, 4);
    facts.copy(central, 6);
    central.writeUInt32LE(part.start, 42);
    this.#directory.push(central, name);
    const signature = Buffer.alloc(4);
    signature.writeUInt32LE(0x04034b50, 0);
    this.#writeAt(Buffer.concat([signature, facts, name]), part.start);
  }

  #write(bytes: Buffer): void {
    this.#writeAt(bytes, this.#at);
    this.#at += bytes.length;
  }

  #writeAt(bytes: Buffer, position: number): void {
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.#file, bytes, written, bytes.length - written, position + written);
    }
  }
}
