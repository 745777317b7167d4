import type { Clock } from '../../../../core/clock.ts';
import { type Randomness, systemRandomness } from '../../../../core/randomness.ts';
import { cookieOf, cookieValue } from '../sessions.ts';

/** A sign-in that was begun in a browser, with the values that the provider's answer must contain. */
export interface SignInAttempt {
  state: string;
  nonce: string;
  codeVerifier: string;
  /** The address to which the provider sends the browser after the sign-in. */
  redirectUri: string;
  /** The path to show after the sign-in. */
  next: string;
}

const ATTEMPT_COOKIE = 'usage_ledger_sign_in';
/** The time that a person has to enter a password and a second factor at the provider. */
const ATTEMPT_SECONDS = 600;
/** The maximum number of sign-ins under way. A further one ends the oldest. */
const MAX_ATTEMPTS = 1000;
const ATTEMPT_ID_BYTES = 32;

/**
 * The sign-ins under way. A cookie binds each of them to the browser that began it. It ends with the provider's first
 * answer.
 */
export class Attempts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #randomness: Pick<Randomness, 'bytes'>;
  readonly #attempts = new Map<string, SignInAttempt & { startedMs: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, randomness: Pick<Randomness, 'bytes'> = systemRandomness) {
    this.#clock = clock;
    this.#randomness = randomness;
  }

  /** Stores a sign-in attempt and returns the `Set-Cookie` header that binds it to the browser. */
  add(attempt: SignInAttempt, { secure }: { secure: boolean }): string {
    const id = this.#randomness.bytes(ATTEMPT_ID_BYTES).toString('base64url');
    this.#attempts.set(id, { ...attempt, startedMs: this.#clock.monotonic() });
    for (const oldest of this.#attempts.keys()) if (this.#attempts.size > MAX_ATTEMPTS) this.#attempts.delete(oldest);
    return cookieOf(ATTEMPT_COOKIE, id, { maxAgeSeconds: ATTEMPT_SECONDS, secure });
  }

  /**
   * Returns the sign-in attempt that a `Cookie` header belongs to, and ends it. Null if there is none, or if it began
   * more than ten minutes ago.
   */
  take(cookieHeader: string | undefined): SignInAttempt | null {
    const id = cookieValue(cookieHeader, ATTEMPT_COOKIE);
    const attempt = id === null ? undefined : this.#attempts.get(id);
    if (id === null || attempt === undefined) return null;
    this.#attempts.delete(id);
    return this.#clock.monotonic() - attempt.startedMs < ATTEMPT_SECONDS * 1000 ? attempt : null;
  }

  /** Returns the `Set-Cookie` header that removes an attempt's cookie from the browser. */
  forget(): string {
    return cookieOf(ATTEMPT_COOKIE, '', { maxAgeSeconds: 0, secure: false });
  }
}
