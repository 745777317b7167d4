import { PGlite } from '@electric-sql/pglite';
import { SCHEMA } from './schema.ts';
import { errorIn, fieldsOf, plainQuery, readSaid } from './wire.ts';

/**
 * Postgres in this process, in memory. It has one session and answers at once, so that nothing waits for anything but the
 * world's clock.
 */
export class PostgresEngine {
  readonly #database: PGlite;

  constructor(database: PGlite) {
    this.#database = database;
  }

  /** What it says to a question, in the bytes of the wire protocol. */
  ask(question: Buffer): Buffer {
    const answers: Buffer[] = [];
    // Whatever it gives back at once it keeps for ever. This way it keeps nothing, and is done as well when it returns.
    void this.#database.execProtocolRawStream(question, {
      syncToFs: false,
      onRawData: (bytes) => void answers.push(Buffer.from(bytes)),
    });
    return Buffer.concat(answers);
  }

  /** Runs statements of ours. Returns the rows of all of them, each field as text. */
  run(sql: string): (string | null)[][] {
    const rows: (string | null)[][] = [];
    for (const { type, body } of readSaid(this.ask(plainQuery(sql)))) {
      if (type === 'E') throw new Error(`${errorIn(body).get('M')}: ${sql}`);
      if (type === 'D') rows.push(fieldsOf(body));
    }
    return rows;
  }

  /** Nothing is left of any replica. */
  empty(): void {
    this.run(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    // Its files go, too.
    this.run('CHECKPOINT');
  }
}

let engine: Promise<PostgresEngine> | undefined;

/** One for all worlds of this process: it takes seconds to start, and half a gigabyte. */
export function postgresEngine(): Promise<PostgresEngine> {
  engine ??= PGlite.create().then((database) => new PostgresEngine(database));
  return engine;
}
