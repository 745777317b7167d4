import type { Clock } from '../../../../src/core/clock.ts';
import type { Random } from '../../../support/random.ts';
import type { PostgresEngine } from './engine.ts';
import { type Asked, plainQuery, readSaid, TAKES_ROWS, WELCOME, Wire, type WireServer } from './wire.ts';

/** What a server of Postgres can do to a publisher. */
export const SERVER_FAULTS = ['away', 'dies', 'answer_lost', 'slow', 'refuses', 'emptied'] as const;
export type ServerFault = (typeof SERVER_FAULTS)[number];

/** A fault that goes on until it is put right. */
export type ServerTrouble =
  /** It takes no connections; those that there are end. */
  | { fault: 'away' }
  /** The same from the `nth` statement of a transaction on. */
  | { fault: 'dies'; nth: number }
  /** Of so many commits nobody hears. */
  | { fault: 'answer_lost'; probability: number }
  | { fault: 'slow' }
  /** Of so many statements that write, with this SQLSTATE: 53100 is a full disk, 25006 a server that is only read. */
  | { fault: 'refuses'; probability: number; code: '53100' | '25006' };

/** Who holds one end of a wire. */
export interface WireClient {
  /** What is not alive has closed its sockets. */
  isAlive(): boolean;
  /** Whether it goes on with what it has in hand. */
  isAwake(): boolean;
  /** Calls back in it, as soon as it can hear. */
  deliver(call: () => void): void;
  /** Told of each question before it is on its way. */
  onQuestion(): void;
}

const WRITES = /^\s*(INSERT|UPDATE|DELETE|COPY|CREATE|ALTER|DROP|TRUNCATE|ANALYZE)\b/i;

/**
 * A server of Postgres on the world's clock, over one engine for all who connect: while one of them has a transaction under way, what the
 * others ask waits for its end.
 */
export class SimulatedPostgres implements WireServer {
  readonly met = new Map<ServerFault, number>();
  /** How many transactions that wrote something were committed. */
  commits = 0;
  /** How often everything was taken away. */
  emptied = 0;
  /** Somebody has edited what lies there, and nobody has said yet that it is as it was published. */
  isEdited = false;
  readonly #engine: PostgresEngine;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #clients = new Map<Wire, WireClient>();
  /** Who has a transaction under way. */
  #busy: Wire | null = null;
  #begun = 0;
  #wrote = false;
  #waiting: (() => void)[] = [];
  #trouble: ServerTrouble | null = null;

  /** Nothing lies there at first. */
  constructor(engine: PostgresEngine, clock: Clock, random: Random) {
    this.#engine = engine;
    this.#clock = clock;
    this.#random = random;
    engine.empty();
  }

  /** Makes a wire to it. */
  wireFor(client: WireClient): Wire {
    const wire = new Wire(this);
    this.#clients.set(wire, client);
    return wire;
  }

  get trouble(): ServerTrouble | null {
    return this.#trouble;
  }

  setTrouble(trouble: ServerTrouble | null): void {
    this.#trouble = trouble;
    if (trouble?.fault === 'away') this.#crash();
  }

  /** Goes down and is there again at once, without anything. */
  restartEmpty(): void {
    this.#meet('emptied');
    this.#crash();
    this.#engine.empty();
    this.emptied += 1;
  }

  /** The number of the transaction that is under way; null when none is. */
  get transaction(): number | null {
    this.#reap();
    return this.#busy === null ? null : this.#begun;
  }

  /** Whether nothing is wrong with it, and nobody who stands still has a transaction under way. */
  get isWell(): boolean {
    this.#reap();
    const holder = this.#busy === null ? undefined : this.#clients.get(this.#busy);
    return this.#trouble === null && holder?.isAwake() !== false;
  }

  /** What lies there, to be read between two transactions. */
  get engine(): PostgresEngine {
    this.#reap();
    if (this.#busy !== null) throw new Error('what is not committed would be seen');
    return this.#engine;
  }

  /** Somebody takes everything away while the server runs. */
  emptyByHand(): void {
    this.#whenIdle((engine) => {
      this.#meet('emptied');
      engine.empty();
      this.emptied += 1;
    });
  }

  /** Somebody who may write there edits it; what does so says whether it has found anything to edit. */
  edit(work: (engine: PostgresEngine) => boolean): void {
    this.#whenIdle((engine) => {
      if (work(engine)) this.isEdited = true;
    });
  }

  #whenIdle(work: (engine: PostgresEngine) => void): void {
    this.#reap();
    if (this.#busy === null) work(this.#engine);
    else this.#waiting.push(() => this.#whenIdle(work));
  }

  connect(wire: Wire): void {
    this.#later(() => {
      if (this.#trouble?.fault === 'away') this.#cut(wire, 'ECONNREFUSED');
      else this.#clients.get(wire)?.deliver(() => wire.emit('connect'));
    });
  }

  ask(wire: Wire, asked: Asked): void {
    const client = this.#clients.get(wire);
    if (client === undefined) return;
    client.onQuestion();
    this.#later(() => this.#take(wire, asked));
  }

  /** What it has not committed is taken back. */
  gone(wire: Wire): void {
    this.#clients.delete(wire);
    if (this.#busy !== wire) return;
    this.#engine.run('ROLLBACK');
    this.#release();
  }

  #later(call: () => void): void {
    const isSlow = this.#trouble?.fault === 'slow';
    if (isSlow) this.#meet('slow');
    this.#clock.after(isSlow ? this.#random.between(500, 4_000) : this.#random.between(1, 20), call);
  }

  #take(wire: Wire, asked: Asked): void {
    this.#reap();
    if (!this.#clients.has(wire)) return;
    if (asked.kind === 'startup') this.#answer(wire, WELCOME);
    else if (this.#busy !== null && this.#busy !== wire) this.#waiting.push(() => this.#take(wire, asked));
    else if (this.#dies()) this.#crash();
    else if (this.#refuses(asked.sql)) this.#perform(wire, plainQuery(this.#refusal()));
    else if (asked.kind === 'copy') this.#answer(wire, TAKES_ROWS, true);
    else {
      this.#wrote ||= WRITES.test(asked.sql);
      this.#perform(wire, asked.bytes);
    }
  }

  #dies(): boolean {
    const trouble = this.#trouble;
    if (trouble?.fault !== 'dies' || this.#busy === null) return false;
    trouble.nth -= 1;
    if (trouble.nth > 0) return false;
    this.#meet('dies');
    this.#trouble = { fault: 'away' };
    return true;
  }

  #refuses(sql: string): boolean {
    const trouble = this.#trouble;
    if (trouble?.fault !== 'refuses' || !WRITES.test(sql) || !this.#random.chance(trouble.probability)) return false;
    this.#meet('refuses');
    return true;
  }

  #refusal(): string {
    const code = this.#trouble?.fault === 'refuses' ? this.#trouble.code : '53100';
    return `DO $$ BEGIN RAISE EXCEPTION 'the disk of this world takes nothing' USING ERRCODE = '${code}'; END $$`;
  }

  #perform(wire: Wire, question: Buffer): void {
    const said = [...readSaid(this.#engine.ask(question))];
    // That rows may come was said before they came.
    const answer = Buffer.concat(said.filter(({ type }) => type !== 'G').map(({ bytes }) => bytes));
    const isOpen = said.some(({ type, body }) => type === 'Z' && body.toString() !== 'I');
    const hasCommitted = said.some(({ type, body }) => type === 'C' && body.toString().startsWith('COMMIT'));
    if (isOpen && this.#busy === null) {
      this.#busy = wire;
      this.#begun += 1;
    }
    if (hasCommitted && this.#wrote) this.commits += 1;
    if (!isOpen && this.#busy === wire) this.#release();
    const isLost = hasCommitted && this.#losesAnswer();
    if (isLost) this.#cut(wire, 'ECONNRESET');
    else this.#answer(wire, answer);
  }

  #losesAnswer(): boolean {
    const trouble = this.#trouble;
    if (trouble?.fault !== 'answer_lost' || !this.#random.chance(trouble.probability)) return false;
    this.#meet('answer_lost');
    return true;
  }

  /** Whoever has waited goes on by a turn of its own: what was committed can be seen before. */
  #release(): void {
    this.#busy = null;
    this.#wrote = false;
    for (const call of this.#waiting.splice(0)) this.#clock.after(0, call);
  }

  #answer(wire: Wire, bytes: Buffer, takesRows = false): void {
    this.#clients.get(wire)?.deliver(() => wire.answer(bytes, { takesRows }));
  }

  #crash(): void {
    for (const wire of [...this.#clients.keys()]) this.#cut(wire, 'ECONNRESET');
  }

  #cut(wire: Wire, code: 'ECONNRESET' | 'ECONNREFUSED'): void {
    const client = this.#clients.get(wire);
    if (code === 'ECONNREFUSED') this.#meet('away');
    this.gone(wire);
    client?.deliver(() => wire.destroy(Object.assign(new Error(`the connection was lost: ${code}`), { code })));
  }

  /** The sockets of who has died are closed. */
  #reap(): void {
    for (const [wire, client] of [...this.#clients]) if (!client.isAlive()) this.gone(wire);
  }

  #meet(fault: ServerFault): void {
    this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
  }
}
