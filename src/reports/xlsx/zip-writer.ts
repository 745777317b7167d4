import { writeFileSync } from 'node:fs';
import { Zip, ZipDeflate } from 'fflate';
import { nextTurn } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';

/** Where the format's time begins: the same texts give the same bytes. */
const DATE = new Date(1980, 0, 1);
const LARGEST = 0xffff_ffff;
const EMPTY_CHUNK = new Uint8Array();
/** What is packed before other work of the process has its turn. */
const AT_ONCE = 262_144;

/** Writes a ZIP file of texts, without holding any of them in memory. */
export class ZipWriter {
  readonly #zip: Zip;

  /** `file` is an empty file that is open for writing. */
  constructor(file: number) {
    let size = 0;
    this.#zip = new Zip((error, bytes) => {
      if (error !== null) throw error;
      size += bytes.length;
      refuseTooLarge(size);
      writeFileSync(file, bytes);
    });
  }

  async add(name: string, pieces: Iterable<string>): Promise<void> {
    const part = new ZipDeflate(name);
    part.mtime = DATE;
    this.#zip.add(part);
    let size = 0;
    let turn = AT_ONCE;
    for (const piece of pieces) {
      const bytes = Buffer.from(piece);
      size += bytes.length;
      if (size > turn) {
        turn = size + AT_ONCE;
        await nextTurn();
      }
      refuseTooLarge(size);
      part.push(bytes);
    }
    part.push(EMPTY_CHUNK, true);
  }

  end(): void {
    this.#zip.end();
  }
}

function refuseTooLarge(bytes: number): void {
  if (bytes <= LARGEST) return;
  throw new AppError('export_failed', 'the file exceeds 4 GiB', {
    hint: 'write less into it, such as fewer views or workspaces',
  });
}
