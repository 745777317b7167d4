import { expect, test } from 'vitest';
import { randomId } from '../../src/core/randomness.ts';

test('a random identifier is a UUID of version 4, whatever its bytes are', () => {
  for (const byte of [0x00, 0xff, 0x5a]) {
    const id = randomId({ bytes: (count) => Buffer.alloc(count, byte) });
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  expect(randomId()).not.toBe(randomId());
});
