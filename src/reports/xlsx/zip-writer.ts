import { Zip, ZipDeflate } from 'fflate';
import { nextTurn } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';

/**
 * The time that is stored with every entry: the earliest time of the ZIP format. It is fixed, so that equal input gives
 * equal bytes.
 */
const ZIP_EPOCH = new Date(1980, 0, 1);
const MAX_ZIP_BYTES = 0xffff_ffff;
const EMPTY_CHUNK = new Uint8Array();
/** After this many bytes, compression pauses so that other work of the process can run. */
const BYTES_PER_TURN = 262_144;

/** Writes texts into a ZIP file as they arrive, so that no whole text is in memory. */
export class ZipWriter {
  readonly #zip: Zip;
  readonly #write: (bytes: Uint8Array) => Promise<void> | void;
  readonly #compressed: Uint8Array[] = [];

  /** `write` is called with the bytes of the ZIP file, in order. */
  constructor(write: (bytes: Uint8Array) => Promise<void> | void) {
    this.#write = write;
    let size = 0;
    this.#zip = new Zip((error, bytes) => {
      if (error !== null) throw error;
      size += bytes.length;
      requireZipSize(size);
      this.#compressed.push(bytes);
    });
  }

  async add(name: string, pieces: Iterable<string>): Promise<void> {
    const part = new ZipDeflate(name);
    part.mtime = ZIP_EPOCH;
    this.#zip.add(part);
    let size = 0;
    let turn = BYTES_PER_TURN;
    for (const piece of pieces) {
      const bytes = Buffer.from(piece);
      size += bytes.length;
      if (size > turn) {
        turn = size + BYTES_PER_TURN;
        await nextTurn();
      }
      requireZipSize(size);
      part.push(bytes);
      if (this.#compressed.length > 0) await this.#flush();
    }
    part.push(EMPTY_CHUNK, true);
    await this.#flush();
  }

  async end(): Promise<void> {
    this.#zip.end();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    for (const bytes of this.#compressed.splice(0)) await this.#write(bytes);
  }
}

function requireZipSize(bytes: number): void {
  if (bytes <= MAX_ZIP_BYTES) return;
  throw new AppError('export_failed', 'the file exceeds 4 GiB', {
    hint: 'export fewer views or workspaces',
  });
}
