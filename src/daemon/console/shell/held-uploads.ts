import type { Clock } from '../../../core/clock.ts';
import { MINUTE_MS } from '../../../core/durations.ts';
import { randomId } from '../../../core/randomness.ts';
import type { Session } from '../sign-in/sessions.ts';

/** Uploads of one session. The oldest is dropped for a further one. */
const MAX_OF_SESSION = 3;
/** Bytes of all uploads. The oldest are dropped to make room. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_AGE_MS = 30 * MINUTE_MS;

interface Held<Value> {
  readonly session: Session;
  readonly bytes: number;
  readonly heldMs: number;
  value: Value;
}

/**
 * Uploaded files with what was found in them, between the page that shows it and the form that records it: a form cannot
 * carry a file again. They are kept in memory, so nothing of them is left after a restart. Only the session that uploaded
 * a file can read it.
 */
export class HeldUploads<Value> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The oldest first. */
  readonly #held = new Map<string, Held<Value>>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Holds an upload and returns its id. `bytes` is the size of its file. */
  hold(session: Session, value: Value, bytes: number): string {
    this.#dropOld();
    const own = [...this.#held].filter(([, held]) => held.session === session);
    for (const [id] of own.slice(0, Math.max(0, own.length - MAX_OF_SESSION + 1))) this.#held.delete(id);
    let total = bytes;
    for (const held of this.#held.values()) total += held.bytes;
    for (const [id, held] of this.#held) {
      if (total <= MAX_HELD_BYTES) break;
      this.#held.delete(id);
      total -= held.bytes;
    }
    const id = randomId();
    this.#held.set(id, { session, value, bytes, heldMs: this.#clock.monotonic() });
    return id;
  }

  /** Returns an upload of the session; null if there is none, or no longer. */
  find(session: Session | null, id: string): Value | null {
    this.#dropOld();
    const held = this.#held.get(id);
    return held === undefined || held.session !== session ? null : held.value;
  }

  /** Replaces what was found in a file that is still held. */
  update(id: string, value: Value): void {
    const held = this.#held.get(id);
    if (held !== undefined) held.value = value;
  }

  drop(id: string): void {
    this.#held.delete(id);
  }

  #dropOld(): void {
    const oldestMs = this.#clock.monotonic() - MAX_AGE_MS;
    for (const [id, { heldMs }] of this.#held) if (heldMs < oldestMs) this.#held.delete(id);
  }
}
