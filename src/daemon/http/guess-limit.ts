import { systemClock } from '../../core/clock.ts';

/** Wrong tokens in a row that an address may send at once. */
const MOST_GUESSES = 10;
/** After which one more is forgiven. */
const FORGIVEN_AFTER_MS = 6_000;
/** Addresses that are remembered; the one that was wrong the longest ago is forgotten first. */
const MOST_ADDRESSES = 1000;

interface Guesses {
  count: number;
  /** Up to when guesses have been forgiven, milliseconds of the monotonic clock. */
  atMs: number;
}

/**
 * Slows down who sends wrong tokens from one address: ten at once, then one every six seconds. The right token is let in all
 * the same, or whoever shares the address could shut its owner out; what keeps it from being guessed is its length.
 */
export class GuessLimit {
  readonly #guesses = new Map<string, Guesses>();
  readonly #now: () => number;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => systemClock.monotonic()) {
    this.#now = now;
  }

  /** Seconds that the address has to wait until it may try a token again; 0 when it may. */
  waitSeconds(address: string): number {
    const known = this.#current(address);
    if (known === null || known.count < MOST_GUESSES) return 0;
    return Math.ceil((FORGIVEN_AFTER_MS - (this.#now() - known.atMs)) / 1000);
  }

  /** To be told of each wrong token. */
  wrong(address: string): void {
    const key = networkOf(address);
    const { count, atMs } = this.#current(address) ?? { count: 0, atMs: this.#now() };
    this.#guesses.delete(key);
    this.#guesses.set(key, { count: count + 1, atMs });
    const [longest] = this.#guesses.keys();
    if (this.#guesses.size > MOST_ADDRESSES && longest !== undefined) this.#guesses.delete(longest);
  }

  /** What is not forgiven yet. */
  #current(address: string): Guesses | null {
    const known = this.#guesses.get(networkOf(address));
    if (known === undefined) return null;
    const forgiven = Math.floor((this.#now() - known.atMs) / FORGIVEN_AFTER_MS);
    if (forgiven >= known.count) return null;
    return { count: known.count - forgiven, atMs: known.atMs + forgiven * FORGIVEN_AFTER_MS };
  }
}

/** An address of IPv6 is one of very many that its owner has: its network of 64 bits counts. */
function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!bare.includes(':')) return bare;
  const [head = '', tail] = bare.replace(/%.*$/, '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4).join(':');
}
