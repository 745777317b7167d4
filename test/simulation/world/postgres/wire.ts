import { Duplex } from 'node:stream';

/** What a client sends at a time and then waits for an answer to. */
export type Asked =
  | { kind: 'startup' }
  /** The server is to say that it takes rows. */
  | { kind: 'copy'; sql: string }
  /** A statement with all that belongs to it, such as its values or the rows that it takes. */
  | { kind: 'statement'; sql: string; bytes: Buffer };

/** The other end of the wires. */
export interface WireServer {
  connect(wire: Wire): void;
  ask(wire: Wire, asked: Asked): void;
  /** The client has gone, or the wire was cut. */
  gone(wire: Wire): void;
}

const COPY_FROM = /^\s*COPY\b[^;]*\bFROM STDIN\b/i;

/** A connection of `pg` that is no socket: what a client writes reaches its server in whole questions of the wire protocol. */
export class Wire extends Duplex {
  readonly #server: WireServer;
  #unread = Buffer.alloc(0);
  #hasBegun = false;
  /** Messages of the question that is being asked. */
  #question: Buffer[] = [];
  #sql = '';
  #takesRows = false;

  constructor(server: WireServer) {
    super();
    this.#server = server;
  }

  /** What a socket has, too. */
  connect(): this {
    this.#server.connect(this);
    return this;
  }

  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (let message = this.#next(); message !== null; message = this.#next()) this.#take(message);
    done();
  }

  override _final(done: () => void): void {
    this.#server.gone(this);
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#server.gone(this);
    done(error);
  }

  /** The first message has no letter before its length. */
  #next(): Buffer | null {
    const at = this.#hasBegun ? 1 : 0;
    if (this.#unread.length < at + 4) return null;
    const length = at + this.#unread.readInt32BE(at);
    if (this.#unread.length < length) return null;
    const message = this.#unread.subarray(0, length);
    this.#unread = this.#unread.subarray(length);
    return message;
  }

  #take(message: Buffer): void {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#server.ask(this, { kind: 'startup' });
      return;
    }
    const type = String.fromCharCode(message[0] ?? 0);
    // Rows after the server has refused them, and a farewell, ask for nothing.
    if (type === 'X' || ('dcf'.includes(type) && !this.#takesRows)) return;
    this.#question.push(message);
    if (type === 'P') [, this.#sql = ''] = textsOf(message);
    if (type === 'Q') {
      [this.#sql = ''] = textsOf(message);
      if (COPY_FROM.test(this.#sql)) {
        this.#server.ask(this, { kind: 'copy', sql: this.#sql });
        return;
      }
    }
    if (!'QScf'.includes(type)) return;
    const bytes = Buffer.concat(this.#question);
    this.#question = [];
    this.#takesRows = false;
    this.#server.ask(this, { kind: 'statement', sql: this.#sql, bytes });
  }

  /** What the server says; `takesRows`: the rows of a COPY come next, as a part of the same question. */
  answer(bytes: Buffer, { takesRows = false } = {}): void {
    this.#takesRows = takesRows;
    if (!takesRows) this.#question = [];
    if (!this.destroyed) this.push(bytes);
  }
}

/** One message of a server. */
export interface Said {
  type: string;
  /** Without its type and length. */
  body: Buffer;
  bytes: Buffer;
}

export function* readSaid(bytes: Buffer): Generator<Said, void> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    const type = String.fromCharCode(bytes[at] ?? 0);
    yield { type, body: bytes.subarray(at + 5, end), bytes: bytes.subarray(at, end) };
    at = end;
  }
}

export function say(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A statement without values, as a client asks it. */
export function plainQuery(sql: string): Buffer {
  return say('Q', Buffer.from(`${sql}\0`));
}

/** Nobody is asked for a password. */
export const WELCOME = Buffer.concat([
  say('R', Buffer.alloc(4)),
  say('K', Buffer.alloc(8)),
  say('Z', Buffer.from('I')),
]);
/** Rows may come, as text. */
export const TAKES_ROWS = say('G', Buffer.alloc(3));

/** The fields of a row; null is NULL. */
export function fieldsOf(row: Buffer): (string | null)[] {
  const fields: (string | null)[] = [];
  for (let at = 2, left = row.readInt16BE(0); left > 0; left -= 1) {
    const length = row.readInt32BE(at);
    fields.push(length < 0 ? null : row.toString('utf8', at + 4, at + 4 + length));
    at += 4 + Math.max(0, length);
  }
  return fields;
}

/** What an error says, by the letters of its fields. */
export function errorIn(body: Buffer): Map<string, string> {
  return new Map(
    body
      .toString('utf8')
      .split('\0')
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  );
}

function textsOf(message: Buffer): string[] {
  return message.toString('utf8', 5).split('\0');
}
