import { to } from 'pg-copy-streams';
import type { NamedColumn } from '../../ledger/store/schema/ledger-tables.ts';
import type { ReplicaClient } from '../connect.ts';
import { columnNames, type Mirror } from '../replica/mirrors.ts';
import { replicaErrorOf } from '../replica-error.ts';
import { unescapeNul } from '../send/nul.ts';

export type Value = string | number | bigint | Buffer | null;

/** What stands for a character behind a backslash in COPY's text format. */
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
/** Integers of so many digits are exact as numbers. */
const PLAIN_DIGITS = 15;

/** The rows that the replica holds of one table of a ledger, in the order of its key. */
export async function* replicaRows(
  client: ReplicaClient,
  mirror: Mirror,
  ledgerKey: number,
): AsyncGenerator<Value[], void> {
  const { name, columns, key } = mirror;
  const kinds = columns.map(({ kind }) => kind);
  const query = `COPY (SELECT ${columnNames(mirror)} FROM ${name} WHERE ledger_key = ${ledgerKey} ORDER BY ${key.join(', ')}) TO STDOUT`;
  const stream = client.pg.query(to(query));
  stream.setEncoding('utf8');
  const chunks = (stream as AsyncIterable<string>)[Symbol.asyncIterator]();
  const nextChunk = (): Promise<IteratorResult<string>> => client.unlessSilent(chunks.next());
  let rest = '';
  try {
    for (let next = await nextChunk(); next.done !== true; next = await nextChunk()) {
      const lines = (rest + next.value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line.split('\t').map((field, index) => toValue(field, kinds[index] ?? 'text'));
    }
  } catch (error) {
    throw replicaErrorOf(error);
  } finally {
    await chunks.return?.();
  }
}

function toValue(field: string, kind: NamedColumn['kind']): Value {
  if (field === '\\N') return null;
  if (kind === 'integer') return field.length <= PLAIN_DIGITS ? Number(field) : BigInt(field);
  // Behind two backslashes and an x.
  if (kind === 'blob') return Buffer.from(field.slice(3), 'hex');
  const plain = field.includes('\\') ? field.replace(/\\(.)/g, (_, sign: string) => ESCAPES[sign] ?? sign) : field;
  return unescapeNul(plain);
}
