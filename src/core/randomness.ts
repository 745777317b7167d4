import { randomBytes } from 'node:crypto';

/** Where the program gets chance from, so that a seed repeats what it did. */
export interface Randomness {
  /** At least 0 and below 1. */
  fraction(): number;
  /** Bytes that nobody can foretell, where they are the system's. */
  bytes(count: number): Buffer;
}

export const systemRandomness: Randomness = { fraction: () => Math.random(), bytes: (count) => randomBytes(count) };
