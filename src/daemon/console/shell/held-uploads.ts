import type { Clock } from '../../../core/clock.ts';
import { MINUTE_MS } from '../../../core/durations.ts';
import { randomId } from '../../../core/randomness.ts';
import type { Session } from '../sign-in/sessions.ts';

/** The maximum number of uploads of one session. A further upload replaces the oldest. */
const MAX_OF_SESSION = 3;
/** The maximum size of all uploads together, in bytes. The oldest are dropped when a new upload would exceed it. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_AGE_MS = 30 * MINUTE_MS;

interface Held<Value> {
  readonly session: Session;
  readonly bytes: number;
  readonly heldMs: number;
  value: Value;
}

/**
 * Uploaded files and the results of reading them. An upload is held from the page that shows the result to the form
 * that records it, because that form cannot send the file again. Uploads are only in memory, so a restart loses them.
 * Only the session that uploaded a file can read it.
 */
export class HeldUploads<Value> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The uploads by id, the oldest first. */
  readonly #held = new Map<string, Held<Value>>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Stores an upload and returns its id. `bytes` is the size of the file. */
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

  /** Returns an upload of this session; null if it does not exist or was dropped. */
  find(session: Session | null, id: string): Value | null {
    this.#dropOld();
    const held = this.#held.get(id);
    return held === undefined || held.session !== session ? null : held.value;
  }

  /** Replaces the stored result of an upload. Does nothing if the upload was dropped. */
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
