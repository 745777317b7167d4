import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { HOUR_MS } from '../../../core/durations.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import type { Caller } from '../../api/callers.ts';

/** A sentence that the next page shows once, about the form that was sent before. */
export interface Notice {
  kind: 'good' | 'bad';
  text: string;
}

/** A form that was refused. The next page shows its fields again, with the fault. */
export interface Draft {
  /** The name of the form on its page. */
  form: string;
  fields: URLSearchParams;
  fault: string;
}

/** A browser that has signed in. */
export interface Session {
  /** The owner and role of the token that the browser signed in with. */
  readonly caller: Caller;
  /** The person's own name, which changes are recorded under; null until it is entered. */
  person: string | null;
  /** The token that each form of this session carries. */
  readonly formToken: string;
  notice: Notice | null;
  draft: Draft | null;
}

interface StoredSession extends Session {
  readonly startedMs: number;
  /** The digest of the token that the browser signed in with: the session ends when that token is removed. */
  readonly tokenDigest: Buffer;
}

export interface SessionToken extends Caller {
  token: string;
}

const SESSION_COOKIE = 'usage_ledger_session';
const SESSION_HOURS = 12;
/** The oldest session ends when more browsers than this are signed in. */
const MAX_SESSIONS = 1000;
const ID_BYTES = 32;

/** The signed-in browsers. They are kept in memory: a restart of the daemon signs everybody out. */
export class Sessions {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #randomness: Pick<Randomness, 'bytes'>;
  /** Sessions by the digest of their id, so that memory holds no id that a browser could send. */
  readonly #sessions = new Map<string, StoredSession>();

  constructor(clock: Pick<Clock, 'monotonic'>, randomness: Pick<Randomness, 'bytes'> = systemRandomness) {
    this.#clock = clock;
    this.#randomness = randomness;
  }

  /** Starts a session with a new id and returns its `Set-Cookie` header. An id that the browser brought is never used. */
  start({ token, name, role }: SessionToken, { person = null, secure }: { person?: string | null; secure: boolean }) {
    const id = this.#randomness.bytes(ID_BYTES).toString('base64url');
    this.#sessions.set(digestOf(id).toString('hex'), {
      caller: { name, role },
      person,
      formToken: this.#randomness.bytes(ID_BYTES).toString('base64url'),
      notice: null,
      draft: null,
      startedMs: this.#clock.monotonic(),
      tokenDigest: digestOf(token),
    });
    for (const oldest of this.#sessions.keys()) if (this.#sessions.size > MAX_SESSIONS) this.#sessions.delete(oldest);
    return `${SESSION_COOKIE}=${id}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${SESSION_HOURS * 3600}${secure ? '; Secure' : ''}`;
  }

  /** Returns the session of a `Cookie` header; null without one, after 12 hours, and once its token is no longer valid. */
  find(cookieHeader: string | undefined, tokens: readonly SessionToken[]): Session | null {
    const key = keyOf(cookieHeader);
    const session = key === null ? undefined : this.#sessions.get(key);
    if (key === null || session === undefined) return null;
    const isOver = this.#clock.monotonic() - session.startedMs >= SESSION_HOURS * HOUR_MS;
    const current = tokens.find(({ token }) => timingSafeEqual(digestOf(token), session.tokenDigest));
    if (!isOver && current?.name === session.caller.name && current.role === session.caller.role) return session;
    this.#sessions.delete(key);
    return null;
  }

  /** Ends the session of a `Cookie` header and returns the `Set-Cookie` header that removes the cookie. */
  end(cookieHeader: string | undefined): string {
    const key = keyOf(cookieHeader);
    if (key !== null) this.#sessions.delete(key);
    return `${SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`;
  }
}

/** Reports whether a form carries the token of its session. */
export function isFormToken({ formToken }: Session, given: string): boolean {
  return timingSafeEqual(digestOf(formToken), digestOf(given));
}

function keyOf(cookieHeader: string | undefined): string | null {
  const [, id] = new RegExp(`(?:^|; *)${SESSION_COOKIE}=([\\w-]{1,100})(?:;|$)`).exec(cookieHeader ?? '') ?? [];
  return id === undefined ? null : digestOf(id).toString('hex');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
