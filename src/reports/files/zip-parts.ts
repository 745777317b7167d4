import { fstatSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { AppError } from '../../core/errors.ts';

/** A part of a ZIP file as its directory describes it; the bytes are as they lie there, compressed or not. */
export interface ZipPart {
  name: string;
  method: number;
  crc: number;
  size: number;
  uncompressedSize: number;
  /** Where its bytes begin in the file. */
  start: number;
}

const LOCAL = { signature: 0x04034b50, bytes: 30 };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const END = { signature: 0x06054b50, bytes: 22 };
const VERSION = 20;
const STORED = 0;
/** The first of January 1980, where the format's time begins: the same rows give the same bytes. */
const DATE = 0x21;
const PIECE_BYTES = 1 << 20;
const LARGEST = 0xffff_ffff;

/** The parts of a ZIP file without a comment and below 4 GiB, as this program writes it. */
export function readZipParts(file: number): ZipPart[] {
  const size = fstatSync(file).size;
  const end = readAt(file, size - END.bytes, END.bytes);
  if (end.readUInt32LE(0) !== END.signature) throw new AppError('export_failed', 'a sheet could not be read back');
  const directory = readAt(file, end.readUInt32LE(16), end.readUInt32LE(12));
  const parts: ZipPart[] = [];
  for (let at = 0; at < directory.length; ) {
    const nameBytes = directory.readUInt16LE(at + 28);
    const local = directory.readUInt32LE(at + 42);
    const header = readAt(file, local, LOCAL.bytes);
    parts.push({
      name: directory.toString('utf8', at + CENTRAL.bytes, at + CENTRAL.bytes + nameBytes),
      method: directory.readUInt16LE(at + 10),
      crc: directory.readUInt32LE(at + 16),
      size: directory.readUInt32LE(at + 20),
      uncompressedSize: directory.readUInt32LE(at + 24),
      start: local + LOCAL.bytes + header.readUInt16LE(26) + header.readUInt16LE(28),
    });
    at += CENTRAL.bytes + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return parts;
}

/** Writes a ZIP file from parts of others and from texts, without holding any of them in memory. */
export class ZipWriter {
  readonly #file: number;
  readonly #directory: Buffer[] = [];
  #at = 0;

  /** `file` is an empty file that is open for writing. */
  constructor(file: number) {
    this.#file = file;
  }

  copy(from: number, part: ZipPart, name: string): void {
    this.#begin({ ...part, name });
    for (let copied = 0; copied < part.size; copied += PIECE_BYTES) {
      this.#write(readAt(from, part.start + copied, Math.min(PIECE_BYTES, part.size - copied)));
    }
  }

  add(name: string, text: string): void {
    const bytes = Buffer.from(text);
    const { length: size } = bytes;
    this.#begin({ name, method: STORED, crc: crc32(bytes), size, uncompressedSize: size });
    this.#write(bytes);
  }

  /** Writes the directory; the file is whole then. */
  end(): void {
    const directory = Buffer.concat(this.#directory);
    const end = Buffer.alloc(END.bytes);
    end.writeUInt32LE(END.signature, 0);
    end.writeUInt16LE(this.#directory.length / 2, 8);
    end.writeUInt16LE(this.#directory.length / 2, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(this.#at, 16);
    this.#write(directory);
    this.#write(end);
  }

  #begin({ name, method, crc, size, uncompressedSize }: Omit<ZipPart, 'start'>): void {
    if (this.#at + size > LARGEST) {
      throw new AppError('export_failed', 'the workbook exceeds 4 GiB', { hint: 'export fewer views, or one by one' });
    }
    const bytes = Buffer.from(name);
    // The same 26 bytes stand before the bytes of a part and in the directory.
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(VERSION, 0);
    facts.writeUInt16LE(method, 4);
    facts.writeUInt16LE(DATE, 8);
    facts.writeUInt32LE(crc, 10);
    facts.writeUInt32LE(size, 14);
    facts.writeUInt32LE(uncompressedSize, 18);
    facts.writeUInt16LE(bytes.length, 22);
    const central = Buffer.alloc(CENTRAL.bytes);
    central.writeUInt32LE(CENTRAL.signature, 0);
    central.writeUInt16LE(VERSION, 4);
    facts.copy(central, 6);
    central.writeUInt32LE(this.#at, 42);
    this.#directory.push(central, bytes);
    const local = Buffer.alloc(4);
    local.writeUInt32LE(LOCAL.signature, 0);
    this.#write(Buffer.concat([local, facts, bytes]));
  }

  #write(bytes: Buffer): void {
    for (let written = 0; written < bytes.length; ) written += writeSync(this.#file, bytes, written);
    this.#at += bytes.length;
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let read = 0; read < length; ) {
    const found = readSync(file, bytes, read, length - read, position + read);
    if (found === 0) throw new AppError('export_failed', 'a sheet ended too early');
    read += found;
  }
  return bytes;
}
