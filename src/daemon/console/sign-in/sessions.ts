import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { HOUR_MS } from '../../../core/durations.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import type { Caller } from '../../api/callers.ts';

/** A sentence about the form that was sent before. The next page shows it once. */
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

/** A sign-in that succeeded: who signed in, and whether the sign-in is still valid. */
export interface SignIn {
  method: 'token' | 'oidc' | 'proxy';
  caller: Caller;
  /** The person's name; null if a form asks for it later. */
  person: string | null;
  /**
   * Reports whether the person would still get the same role. Called for each request, so that a reload takes effect at
   * once.
   */
  holds(): boolean;
}

/** A browser that has signed in. */
export interface Session {
  readonly method: SignIn['method'];
  /** The name and the role that the sign-in gives. */
  readonly caller: Caller;
  /** The person's own name, under which changes are recorded; null until it is entered. */
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
/** The maximum number of sessions. A further sign-in ends the oldest session. */
const MAX_SESSIONS = 1000;
const ID_BYTES = 32;

/** The signed-in browsers. They are kept in memory: a restart of the daemon signs everybody out. */
export class Sessions {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #randomness: Pick<Randomness, 'bytes'>;
  /**
   * The sessions by the digest of their id. The ids themselves are not kept, so nobody can take over a session by
   * reading the memory.
   */
  readonly #sessions = new Map<string, StoredSession>();

  constructor(clock: Pick<Clock, 'monotonic'>, randomness: Pick<Randomness, 'bytes'> = systemRandomness) {
    this.#clock = clock;
    this.#randomness = randomness;
  }

  /**
   * Starts a session with a new id. Returns the session and its `Set-Cookie` header. An id that the browser sent is
   * never used.
   */
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

  /**
   * Returns the session that a `Cookie` header belongs to. Null if there is none, after 12 hours, and when its sign-in
   * is no longer valid.
   */
  find(cookieHeader: string | undefined): Session | null {
    const key = keyOf(cookieHeader);
    const session = key === null ? undefined : this.#sessions.get(key);
    if (key === null || session === undefined) return null;
    const isOver = this.#clock.monotonic() - session.startedMs >= SESSION_HOURS * HOUR_MS;
    if (!isOver && session.holds()) return session;
    this.#sessions.delete(key);
    return null;
  }

  /** Ends the session that a `Cookie` header belongs to. Returns the `Set-Cookie` header that removes the cookie. */
  end(cookieHeader: string | undefined): string {
    const key = keyOf(cookieHeader);
    if (key !== null) this.#sessions.delete(key);
    return cookieOf(SESSION_COOKIE, '', { maxAgeSeconds: 0, secure: false });
  }
}

/** Returns the sign-in with a token. It stays valid until the token is removed or gets another name or role. */
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

/** Reports whether the token that a form sent is the form token of its session. */
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

/**
 * Reports whether the browser uses HTTPS; its cookie is then sent over HTTPS only. Only the proxy in front of the
 * daemon knows this, and says so in a header.
 */
export function isSecure(headers: Readonly<Record<string, unknown>>): boolean {
  return headers['x-forwarded-proto'] === 'https';
}

/** Returns the random id in a cookie; null if the cookie is missing. */
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
