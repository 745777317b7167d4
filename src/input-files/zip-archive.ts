import { crc32, inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const END_OF_DIRECTORY_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_HEADER = 0x04034b50;
const END_OF_DIRECTORY_BYTES = 22;
const LOCATOR_64_BYTES = 20;
const MAX_COMMENT_BYTES = 0xffff;
const IN_ZIP64 = 0xffffffff;
const ZIP64_FIELD = 0x0001;
const ENCRYPTED_FLAG = 0x0001;
const STORED = 0;
const DEFLATED = 8;

interface ZipEntry {
  isEncrypted: boolean;
  method: number;
  crc: number;
  packedBytes: number;
  unpackedBytes: number;
  headerOffset: number;
}

/** The error for a ZIP archive that is truncated, altered or inconsistent. */
export class DamagedArchive extends Error {}

/**
 * Reads the entries of a ZIP archive in memory. The directory at the end of the archive decides which entries exist.
 * Each entry that is read is checked against its length and checksum, because a flipped bit in a workbook must not
 * change an amount. Upper and lower case are equal in the names of entries, as in Office files.
 */
export class ZipArchive {
  readonly #bytes: Buffer;
  readonly #entries: ReadonlyMap<string, ZipEntry>;

  /** Throws DamagedArchive if the archive has no complete directory. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    try {
      this.#entries = readDirectory(bytes);
    } catch (error) {
      throw error instanceof RangeError ? new DamagedArchive() : error;
    }
  }

  /** The names of all entries in lower case, in the order of the directory. */
  get names(): string[] {
    return [...this.#entries.keys()];
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** Returns the unpacked size of an entry in bytes, as stated in the directory; 0 if there is no such entry. */
  sizeOf(name: string): number {
    return this.#entries.get(name.toLowerCase())?.unpackedBytes ?? 0;
  }

  /**
   * Returns the unpacked bytes of an entry. Never unpacks more bytes than the directory states. Throws DamagedArchive
   * if the entry is missing or encrypted, or if its length or checksum is wrong.
   */
  read(name: string): Buffer {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined || entry.isEncrypted) throw new DamagedArchive();
    try {
      const bytes = unpack(this.#packed(entry), entry);
      if (bytes.length === entry.unpackedBytes && crc32(bytes) === entry.crc) return bytes;
    } catch {
      // zlib throws errors with many different codes if the data is damaged or is longer than the directory states.
    }
    throw new DamagedArchive();
  }

  #packed({ headerOffset, packedBytes }: ZipEntry): Buffer {
    if (this.#bytes.readUInt32LE(headerOffset) !== LOCAL_HEADER) throw new DamagedArchive();
    const [name, extra] = [this.#bytes.readUInt16LE(headerOffset + 26), this.#bytes.readUInt16LE(headerOffset + 28)];
    const start = headerOffset + 30 + name + extra;
    return this.#bytes.subarray(start, start + packedBytes);
  }
}

function unpack(packed: Buffer, { method, unpackedBytes }: ZipEntry): Buffer {
  if (method === STORED) return packed;
  if (method !== DEFLATED) throw new DamagedArchive();
  return unpackedBytes === 0 ? Buffer.alloc(0) : inflateRawSync(packed, { maxOutputLength: unpackedBytes });
}

function readDirectory(bytes: Buffer): Map<string, ZipEntry> {
  const { count, offset } = findDirectory(bytes);
  const entries = new Map<string, ZipEntry>();
  let at = offset;
  for (let index = 0; index < count; index++) {
    if (bytes.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new DamagedArchive();
    const nameBytes = bytes.readUInt16LE(at + 28);
    const extraBytes = bytes.readUInt16LE(at + 30);
    const commentBytes = bytes.readUInt16LE(at + 32);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameBytes);
    const extra = bytes.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes);
    const [unpackedBytes = 0, packedBytes = 0, headerOffset = 0] = withZip64(extra, [
      bytes.readUInt32LE(at + 24),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ]);
    entries.set(name.replaceAll('\\', '/').toLowerCase(), {
      isEncrypted: (bytes.readUInt16LE(at + 8) & ENCRYPTED_FLAG) !== 0,
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      packedBytes,
      unpackedBytes,
      headerOffset,
    });
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return entries;
}

function findDirectory(bytes: Buffer): { count: number; offset: number } {
  const last = bytes.length - END_OF_DIRECTORY_BYTES;
  for (let at = last; at >= 0 && at >= last - MAX_COMMENT_BYTES; at--) {
    if (bytes.readUInt32LE(at) !== END_OF_DIRECTORY) continue;
    const [count, offset] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 16)];
    const locator = at - LOCATOR_64_BYTES;
    if (locator < 0 || bytes.readUInt32LE(locator) !== LOCATOR_64) return { count, offset };
    const end = Number(bytes.readBigUInt64LE(locator + 8));
    if (bytes.readUInt32LE(end) !== END_OF_DIRECTORY_64) throw new DamagedArchive();
    return { count: Number(bytes.readBigUInt64LE(end + 32)), offset: Number(bytes.readBigUInt64LE(end + 48)) };
  }
  throw new DamagedArchive();
}

/**
 * Returns the sizes and the offset of an entry. Each of them that does not fit into 32 bits is stored in the entry's
 * ZIP64 extra field, in the order of `values`.
 */
function withZip64(extra: Buffer, values: readonly number[]): number[] {
  let at = 0;
  while (at + 4 <= extra.length && extra.readUInt16LE(at) !== ZIP64_FIELD) at += 4 + extra.readUInt16LE(at + 2);
  at += 4;
  return values.map((value) => {
    if (value !== IN_ZIP64) return value;
    at += 8;
    return Number(extra.readBigUInt64LE(at - 8));
  });
}
