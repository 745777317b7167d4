import { once } from 'node:events';
import type pg from 'pg';
import { from } from 'pg-copy-streams';
import { nextTurn } from '../core/clock.ts';
import { type CopiedTable, columnNames, valuesOf } from './tables.ts';

/** What is read and handed to the socket at a time, in characters: reading it takes some milliseconds. */
const CHUNK_CHARACTERS = 64 * 1024;
/** Has the event loop its turn where rows are looked for and none is found. */
export const PAUSE = '';
/** Stands for U+0000, which no text of Postgres has, as `␀0`; the sign itself, which nobody uses, is doubled. */
const SIGN = '␀';

export function escapeNul(text: string): string {
  if (!text.includes('\0') && !text.includes(SIGN)) return text;
  return text.replaceAll(SIGN, SIGN + SIGN).replaceAll('\0', `${SIGN}0`);
}

/** Rows as lines of COPY's text format. */
export function selectLines(table: CopiedTable, ledgerKey: number): string {
  const escaped = (value: string): string =>
    `replace(replace(replace(replace(${value}, '\\', '\\\\'), char(9), '\\t'), char(10), '\\n'), char(13), '\\r')`;
  return `SELECT ${[ledgerKey, ...valuesOf(table, ledgerKey, escaped)].join(' || char(9) || ')}`;
}

/** Sends lines into a table. Returns how many there were. */
export async function copyLines(client: pg.Client, table: CopiedTable, lines: Iterable<string>): Promise<number> {
  let rows = 0;
  let chunk = '';
  // Most tables have nothing new: they cost no question to the server.
  let stream: ReturnType<typeof from> | null = null;
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  let lost: Error | null = null;
  const write = async (): Promise<void> => {
    // A stream whose connection is gone cannot be written to: it would be another error, and hide this one.
    if (lost !== null) throw lost;
    if (stream === null) {
      stream = client.query(from(`COPY ${table.name} (${columnNames(table)}) FROM STDIN`));
      stream.once('finish', ended.resolve);
      stream.on('error', (error) => {
        lost = error;
        ended.reject(error);
      });
    }
    if (!stream.write(escapeNul(chunk))) await Promise.race([once(stream, 'drain'), ended.promise]);
    chunk = '';
  };
  for (const line of lines) {
    if (line !== PAUSE) {
      chunk += `${line}\n`;
      rows += 1;
    }
    if (chunk.length >= CHUNK_CHARACTERS) await write();
    else if (line !== PAUSE) continue;
    await nextTurn();
  }
  if (rows === 0) return 0;
  await write();
  if (lost !== null) throw lost;
  (stream as ReturnType<typeof from> | null)?.end();
  await ended.promise;
  return rows;
}
