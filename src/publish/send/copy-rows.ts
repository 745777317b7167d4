import { once } from 'node:events';
import { from } from 'pg-copy-streams';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { ReplicaClient } from '../connect.ts';
import { columnNames, type Mirror } from '../replica/mirrors.ts';
import { replicaErrorOf } from '../replica-error.ts';
import { escapeNul } from './nul.ts';

/** What is handed to the socket at a time, in characters. */
const CHUNK_CHARACTERS = 64 * 1024;

/** Rows of one table of the ledger, chosen in SQL. */
export interface Rows {
  mirror: Mirror;
  /** What follows SELECT ... FROM; `r` is the table. */
  from: string;
  values?: readonly unknown[];
}

/** Each row as a line of COPY's text format, with the ledger's key as its first field. */
export function copyLines(
  connection: LedgerConnection,
  { mirror, from: source, values = [] }: Rows,
  ledgerKey: number,
) {
  const fields = mirror.columns.map(({ name, kind, notNull }) => {
    const field = { integer: `r.${name}`, text: escaped(`r.${name}`), blob: `'\\\\x' || hex(r.${name})` }[kind];
    if (notNull) return field;
    return kind === 'blob' ? `CASE WHEN r.${name} IS NULL THEN '\\N' ELSE ${field} END` : `coalesce(${field}, '\\N')`;
  });
  const line = `${ledgerKey} || char(9) || ${fields.join(' || char(9) || ')}`;
  return connection
    .prepare(`SELECT ${line} FROM ${source}`)
    .pluck()
    .iterate(...values) as IterableIterator<string>;
}

/** Sends lines into a table of the replica; returns how many there were. */
export async function copyInto(
  client: ReplicaClient,
  target: string,
  mirror: Mirror,
  lines: Iterable<string>,
): Promise<number> {
  const iterator = lines[Symbol.iterator]();
  const first = iterator.next();
  // Most tables have nothing new: they cost no question to the server.
  if (first.done === true) return 0;
  const stream = client.pg.query(from(`COPY ${target} (ledger_key, ${columnNames(mirror)}) FROM STDIN`));
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  stream.once('finish', ended.resolve);
  // For good: to destroy a stream whose connection is gone is an error of its own, which nobody else would catch.
  stream.on('error', ended.reject);
  let rows = 0;
  let chunk = '';
  try {
    for (let next: IteratorResult<string> = first; next.done !== true; next = iterator.next()) {
      chunk += `${next.value}\n`;
      rows += 1;
      if (chunk.length < CHUNK_CHARACTERS) continue;
      if (!stream.write(escapeNul(chunk))) {
        await client.unlessSilent(Promise.race([once(stream, 'drain'), ended.promise]));
      }
      chunk = '';
    }
    stream.end(escapeNul(chunk));
    await client.unlessSilent(ended.promise);
    return rows;
  } catch (error) {
    stream.destroy();
    throw replicaErrorOf(error);
  } finally {
    iterator.return?.();
  }
}

/** What COPY's text format gives a meaning to, in SQL. */
function escaped(column: string): string {
  const replaced = [
    ["'\\'", "'\\\\'"],
    ['char(9)', "'\\t'"],
    ['char(10)', "'\\n'"],
    ['char(13)', "'\\r'"],
  ].reduce((inner, [what, by]) => `replace(${inner}, ${what}, ${by})`, column);
  return replaced;
}
