import { randomBytes } from 'node:crypto';

/** The program's source of random values. A seeded one makes a run repeatable. */
export interface Randomness {
  fraction(): number;
  /** Returns random bytes. Those of `systemRandomness` are unpredictable. */
  bytes(count: number): Buffer;
}

export function randomId(randomness: Pick<Randomness, 'bytes'> = systemRandomness): string {
  const raw = randomness.bytes(16);
  raw.writeUInt8((raw.readUInt8(6) & 0x0f) | 0x40, 6);
  raw.writeUInt8((raw.readUInt8(8) & 0x3f) | 0x80, 8);
  return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export const systemRandomness: Randomness = { fraction: () => Math.random(), bytes: (count) => randomBytes(count) };
