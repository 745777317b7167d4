import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { packError } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { writeSheetFile } from '../../reports/files/write-sheet.ts';
import type { SheetColumn, SheetValue } from '../../reports/formats/columns.ts';
import type { SheetOrder } from './sheet-files.ts';

const CHUNK_BYTES = 1 << 20;

/** Makes a workbook or a Parquet file from a text file of rows. This file runs as a thread and is never imported. */
async function makeFile({ rowsPath, path, format, name, columns }: SheetOrder): Promise<void> {
  await writeSheetFile({ name, columns, rows: rowsIn(rowsPath, columns) }, { path, format });
}

/** Reads lines that are JSON arrays of the values of a row. */
function* rowsIn(path: string, columns: readonly SheetColumn[]): Generator<SheetValue[]> {
  const isDouble = columns.map(({ kind }) => kind === 'double');
  for (const line of sheetLines(path)) {
    const values = parseExact(line) as SheetValue[];
    yield values.map((value, at) => (isDouble[at] === true && typeof value === 'bigint' ? Number(value) : value));
  }
}

function* sheetLines(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      const length = readSync(file, chunk);
      const lines = (rest + decoder.decode(chunk.subarray(0, length), { stream: length > 0 })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
      if (length === 0) return;
    }
  } finally {
    closeSync(file);
  }
}

await makeFile(workerData as SheetOrder).then(
  () => parentPort?.postMessage(null),
  (error: unknown) => parentPort?.postMessage(packError(error)),
);
