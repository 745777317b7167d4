import { randomBytes } from 'node:crypto';

/** The program's source of random values. Tests pass a seeded source to make a run repeatable. */
export interface Randomness {
  /** Returns a number in [0, 1). */
  fraction(): number;
  /** Returns random bytes. The bytes of `systemRandomness` cannot be predicted. */
  bytes(count: number): Buffer;
}

/** Returns a random UUID, version 4. */
export function randomId(randomness: Pick<Randomness, 'bytes'> = systemRandomness): string {
  const raw = randomness.bytes(16);
  raw.writeUInt8((raw.readUInt8(6) & 0x0f) | 0x40, 6);
  raw.writeUInt8((raw.readUInt8(8) & 0x3f) | 0x80, 8);
  return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export const systemRandomness: Randomness = { fraction: () => Math.random(), bytes: (count) => randomBytes(count) };
