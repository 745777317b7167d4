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

/** A sign-in that succeeded: who signed in, and how long it holds. */
export interface SignIn {
  method: 'token' | 'oidc' | 'proxy';
  caller: Caller;
  /** The person's name; null if a form asks for it later. */
  person: string | null;
  /** Reports whether the person would still get the same role. Asked with each request, so that a reload counts at once. */
  holds(): boolean;
}

/** A browser that has signed in. */
export interface Session {
  readonly method: SignIn['method'];
  /** The owner and the role of the sign-in. */
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
  readonly holds: () => boolean;
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

  /** Starts a session with a new id, and returns it with its `Set-Cookie` header. An id that the browser brought is never used. */
  start(
    { method, caller, person, holds }: SignIn,
    { secure }: { secure: boolean },
  ): { session: Session; cookie: string } {
    const id = this.#randomness.bytes(ID_BYTES).toString('base64url');
    const session: StoredSession = {
      method,
      caller,
      person,
      formToken: this.#randomness.bytes(ID_BYTES).toString('base64url'),
      notice: null,
      draft: null,
      startedMs: this.#clock.monotonic(),
      holds,
    };
    this.#sessions.set(digestOf(id).toString('hex'), session);
    for (const oldest of this.#sessions.keys()) if (this.#sessions.size > MAX_SESSIONS) this.#sessions.delete(oldest);
    return { session, cookie: cookieOf(SESSION_COOKIE, id, { maxAgeSeconds: SESSION_HOURS * 3600, secure }) };
  }

  /** Returns the session of a `Cookie` header; null without one, after 12 hours, and once its sign-in no longer holds. */
  find(cookieHeader: string | undefined): Session | null {
    const key = keyOf(cookieHeader);
    const session = key === null ? undefined : this.#sessions.get(key);
    if (key === null || session === undefined) return null;
    const isOver = this.#clock.monotonic() - session.startedMs >= SESSION_HOURS * HOUR_MS;
    if (!isOver && session.holds()) return session;
    this.#sessions.delete(key);
    return null;
  }

  /** Ends the session of a `Cookie` header and returns the `Set-Cookie` header that removes the cookie. */
  end(cookieHeader: string | undefined): string {
    const key = keyOf(cookieHeader);
    if (key !== null) this.#sessions.delete(key);
    return cookieOf(SESSION_COOKIE, '', { maxAgeSeconds: 0, secure: false });
  }
}

/** Returns the sign-in with a token. It holds until the token is removed or gets another owner or role. */
export function signInWithToken(
  { token, name, role }: SessionToken,
  person: string | null,
  tokens: () => readonly SessionToken[],
): SignIn {
  const digest = digestOf(token);
  const holds = (): boolean => {
    const current = tokens().find((known) => timingSafeEqual(digestOf(known.token), digest));
    return current?.name === name && current.role === role;
  };
  return { method: 'token', caller: { name, role }, person, holds };
}

/** Reports whether a form carries the token of its session. */
export function isFormToken({ formToken }: Session, given: string): boolean {
  return timingSafeEqual(digestOf(formToken), digestOf(given));
}

/** Returns a `Set-Cookie` header. Scripts cannot read the cookie, and forms of other sites do not send it. */
export function cookieOf(
  name: string,
  value: string,
  { maxAgeSeconds, secure }: { maxAgeSeconds: number; secure: boolean },
): string {
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
}

/** Reports whether the browser uses HTTPS, so that its cookie is sent over HTTPS only. Behind a proxy, only the proxy knows. */
export function isSecure(headers: Readonly<Record<string, unknown>>): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** Returns the value of a cookie with a random id; null without one. */
export function cookieValue(cookieHeader: string | undefined, name: string): string | null {
  const [, value] = new RegExp(`(?:^|; *)${name}=([\\w-]{1,100})(?:;|$)`).exec(cookieHeader ?? '') ?? [];
  return value ?? null;
}

function keyOf(cookieHeader: string | undefined): string | null {
  const id = cookieValue(cookieHeader, SESSION_COOKIE);
  return id === null ? null : digestOf(id).toString('hex');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
