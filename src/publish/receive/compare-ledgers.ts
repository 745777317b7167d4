import Database from 'better-sqlite3';
import type { Fault } from '../../ledger/audit/verify/fault.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { attach } from '../../ledger/store/file/schema-objects.ts';
import { OWN_VALUES } from '../../ledger/store/schema/identity.ts';
import { MIRRORS, type Mirror } from '../replica/mirrors.ts';
import { ADDED } from '../send/changed-rows.ts';
import { type ReplicaState, readLocal } from '../send/position.ts';
import { replicaFault } from './replica-fault.ts';

/** Who works at the moment is no part of what was published. */
const LEFT_OUT: readonly string[] = [
  ...['leases', 'outbox.claimed_until', 'outbox.unknown_attempts', 'alerts.ask_at', 'alerts.asked_at'],
];

export interface Comparison {
  faults: Fault[];
  /** Links of the ledger's chain that the replica does not hold yet. */
  behind: number;
}

/**
 * Compares a ledger rebuilt from the replica with the ledger itself: the first link of the chain that differs, and the
 * first row of each table. Where the ledger has moved on since, only what is never rewritten is compared.
 */
export function compareLedgers(rebuiltFile: string, ledgerPath: string, held: ReplicaState): Comparison {
  const connection = new Database(ledgerPath, { readonly: true });
  try {
    attach(connection, rebuiltFile, 'replica');
    connection.exec('BEGIN');
    const state = readLocal(connection);
    const { marks } = state;
    const hasMoved =
      state.head.seq !== held.position ||
      (Object.keys(marks) as (keyof typeof marks)[]).some((mark) => marks[mark] !== held.marks[mark]);
    const faults = [
      ...differentLink(connection, held),
      ...MIRRORS.flatMap((mirror) => differentRow(connection, mirror, hasMoved ? held : null)),
    ];
    return { faults, behind: Math.max(0, state.head.seq - held.position) };
  } finally {
    connection.close();
  }
}

function differentLink(connection: LedgerConnection, { position }: ReplicaState): Fault[] {
  const links = (schema: string): string =>
    `SELECT applied_seq AS seq, digest FROM ${schema}.runs WHERE applied_seq IS NOT NULL
     UNION ALL SELECT event_seq, digest FROM ${schema}.period_events
     UNION ALL SELECT end_seq, digest FROM ${schema}.workspace_ends`;
  const first = connection
    .prepare(
      `SELECT a.seq, a.digest AS theirs, b.digest AS ours FROM (${links('replica')}) a LEFT JOIN (${links('main')}) b ON b.seq = a.seq
       WHERE a.digest IS NOT b.digest ORDER BY a.seq LIMIT 1`,
    )
    .get() as { seq: number; theirs: string; ours: string | null } | undefined;
  if (first === undefined) return [];
  const { seq, theirs, ours } = first;
  const here = ours === null ? 'the ledger has no such link' : `the ledger says ${ours}`;
  return [
    replicaFault(
      `link ${seq} of ${position}: the replica says ${theirs}, ${here}: the history of one of them was rewritten`,
    ),
  ];
}

function differentRow(
  connection: LedgerConnection,
  { name, columns, key }: Mirror,
  moved: ReplicaState | null,
): Fault[] {
  if (LEFT_OUT.includes(name)) return [];
  const limit = limitOf(name, moved);
  if (limit === null) return [];
  const names = columns.map((column) => column.name).filter((column) => !LEFT_OUT.includes(`${name}.${column}`));
  const rows = (schema: string): string => `SELECT ${names.join(', ')} FROM ${schema}.${name} WHERE ${limit}`;
  const first = (one: string, other: string) =>
    connection
      .prepare(`SELECT * FROM (${rows(one)} EXCEPT ${rows(other)}) ORDER BY ${key.join(', ')} LIMIT 1`)
      .safeIntegers()
      .get() as Record<string, unknown> | undefined;
  const theirs = first('replica', 'main');
  const ours = first('main', 'replica');
  const row = theirs ?? ours;
  if (row === undefined) return [];
  const where = `${name} (${key.map((column) => `${column} ${shown(row[column])}`).join(', ')})`;
  const isSame = theirs !== undefined && ours !== undefined && key.every((column) => theirs[column] === ours[column]);
  if (!isSame) return [replicaFault(`${where}: only the ${theirs === undefined ? 'ledger' : 'replica'} has this row`)];
  const column = names.find((one) => shown(theirs[one]) !== shown(ours[one])) ?? '';
  return [
    replicaFault(
      `${where}: ${column} is ${shown(theirs[column])} in the replica, ${shown(ours[column])} in the ledger`,
    ),
  ];
}

/** Which rows can be compared, in SQL; null: none. */
function limitOf(name: string, moved: ReplicaState | null): string | null {
  if (name === 'ledger_meta') return moved === null ? `name NOT IN ${OWN_VALUES}` : null;
  if (moved === null) return 'true';
  if (name === 'runs') return `applied_seq <= ${moved.position}`;
  const added = ADDED.find((one) => one.name === name);
  return added === undefined ? null : `${added.column} <= ${moved.marks[added.mark]}`;
}

function shown(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
