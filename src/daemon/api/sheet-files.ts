import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { AppError, type PackedError, unpackError } from '../../core/errors.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import type { SheetColumn } from '../../reports/formats/columns.ts';

export type SheetFormatOfThread = 'xlsx' | 'parquet';

/** A file for the thread to make. */
export interface SheetOrder {
  /** The file with the rows. */
  rowsPath: string;
  /** The file to make. */
  path: string;
  format: SheetFormatOfThread;
  name: string;
  columns: readonly SheetColumn[];
}

const SHEET_THREAD_MEMORY_MB = 512;

interface SheetRequest {
  format: SheetFormatOfThread;
  name: string;
  /** The rows as text: each line is a JSON array of the values of a row. */
  pieces: AsyncIterable<string>;
  /** Returns the columns; called after the last piece. */
  columns: () => readonly SheetColumn[];
  signal: AbortSignal;
}

/**
 * Makes a workbook or a Parquet file and returns a stream of it. The rows are first written to a text file. A thread
 * then makes the workbook or the Parquet file from it in one step, so that requests are answered meanwhile. Both files
 * are removed when the stream is closed.
 */
export async function makeSheetFile({ format, name, pieces, columns, signal }: SheetRequest): Promise<Readable> {
  const folder = await mkdtemp(join(tmpdir(), 'usage-ledger-sheet-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const rowsPath = join(folder, 'rows');
    const path = join(folder, `sheet.${format}`);
    await writeRowPieces(rowsPath, pieces);
    const plain = columns().map(plainColumn);
    await runThread({ rowsPath, path, format, name, columns: plain }, signal);
    const stream = createReadStream(path);
    stream.once('close', () => void remove());
    return stream;
  } catch (error) {
    await remove();
    throw error;
  }
}

async function writeRowPieces(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const piece of pieces) await file.write(piece);
  } finally {
    await file.close();
  }
}

/** Returns a column without its functions, because functions cannot be sent to a thread. */
function plainColumn({ name, kind, sum }: SheetColumn): SheetColumn {
  return sum === undefined ? { name, kind } : { name, kind, sum };
}

async function runThread(order: SheetOrder, signal: AbortSignal): Promise<void> {
  const worker = new Worker(siblingModule(import.meta.url, 'sheet-thread'), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: SHEET_THREAD_MEMORY_MB },
  });
  const end = () => void worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    const fault = await new Promise<PackedError | null>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new AppError('cancelled', 'the file was not made', { retryable: true })));
      if (signal.aborted) end();
    });
    if (fault !== null) throw unpackError(fault);
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}
