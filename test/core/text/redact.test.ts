import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor, withoutOpaqueRuns } from '../../../src/core/text/redact.ts';

// cspell:ignore abcdefy bxbxb mwrong päss päsß späss unwrong wrongé wröng

test.each([
  { form: 'as it is', text: (secret: string) => `key ${secret} end` },
  { form: 'inside JSON', text: (secret: string) => JSON.stringify({ key: secret }) },
  { form: 'percent-encoded', text: (secret: string) => `https://host/?key=${encodeURIComponent(secret)}` },
  { form: 'as base64', text: (secret: string) => `x ${Buffer.from(secret).toString('base64')} y` },
  { form: 'as base64url', text: (secret: string) => `x ${Buffer.from(secret).toString('base64url')} y` },
  { form: 'as hex', text: (secret: string) => `x ${Buffer.from(secret).toString('hex')} y` },
  { form: 'as upper-case hex', text: (secret: string) => `x ${Buffer.from(secret).toString('hex').toUpperCase()} y` },
])('a secret $form is replaced wherever it stands', ({ text }) => {
  const secrets = fc.string({ minLength: 8, maxLength: 40 }).filter((secret) => !'[redacted]'.includes(secret));
  fc.assert(
    fc.property(secrets, (secret) => {
      const redacted = createRedactor([secret])(text(secret));
      expect(redacted).toContain('[redacted]');
      expect(redacted).not.toContain(secret);
    }),
  );
});

test.each([
  [
    'a secret with quotes and line breaks',
    'pass"word\n\\line',
    String.raw`{"a":"pass\"word\n\\line"}`,
    '{"a":"[redacted]"}',
  ],
  ['a secret with signs that addresses escape', 'p@ss/w=rd&', '?k=p%40ss%2Fw%3Drd%26&x=1', '?k=[redacted]&x=1'],
])('%s is known in its escaped form', (_, secret, text, expected) => {
  expect(createRedactor([secret])(text)).toBe(expected);
});

test('a secret inside a longer one leaves no rest of the longer one', () => {
  const redact = createRedactor(['secret', 'my-secret-key']);
  expect(redact('my-secret-key and secret')).toBe('[redacted] and [redacted]');
});

test('every occurrence of every secret is replaced, and other text is left alone', () => {
  expect(createRedactor(['aaaa', 'b.b.b'])('aaaa b.b.b bxbxb aaaa')).toBe('[redacted] [redacted] bxbxb [redacted]');
});

test('values too short to be secrets do not blot out ordinary text', () => {
  expect(createRedactor(['', 'a', 'abc'])('an abc')).toBe('an abc');
});

test.each([0, 1, 2, 3, 4, 5])('a secret behind %i other bytes of one base64 text is replaced', (before) => {
  const secret = 'sk_live_0123456789';
  const text = Buffer.from(`${'u'.repeat(before)}${secret}:tail`).toString('base64');
  const redacted = createRedactor([secret])(text);
  expect(redacted).toContain('[redacted]');
  // The remaining text contains no more than the three bytes at either end.
  const rest = redacted.split('[redacted]').map((part) => Buffer.from(part, 'base64').toString('latin1'));
  for (const part of rest) expect(part).not.toMatch(/live|0123|456789/);
});

test.each([
  ['wrong', 'WRONGPASS invalid username-password pair', 'WRONGPASS invalid username-password pair'],
  ['wrong', 'ERR WRONG number of arguments', 'ERR [redacted] number of arguments'],
  [
    'wrong',
    'AUTH wrong, redis://:wrong@host and (wrong)',
    'AUTH [redacted], redis://:[redacted]@host and ([redacted])',
  ],
  [
    'wrong',
    'wrongly, wrong_type, unwrong, wrong2, wröng and wrongé',
    'wrongly, wrong_type, unwrong, wrong2, wröng and wrongé',
  ],
  [
    'wrong',
    String.raw`{"a":"1\nwrong","b":"\u001b[31mwrong\u001b[39m"}`,
    String.raw`{"a":"1\n[redacted]","b":"\u001b[31m[redacted]\u001b[39m"}`,
  ],
  ['wrong', '\u001b[31mwrong\u001b[39m', '\u001b[31m[redacted]\u001b[39m'],
  ['wrong', '?a=%20wrong&b=wrong%20', '?a=%20[redacted]&b=[redacted]%20'],
  ['wrong', `Basic ${Buffer.from('user:wrong').toString('base64')} ends`, 'Basic [redacted] ends'],
  ['wrong', `?auth=${encodeURIComponent(Buffer.from('u:wrong').toString('base64'))}&x`, '?auth=[redacted]&x'],
  [
    'wrong',
    String.raw`{"a":"1\n${Buffer.from('user:wrong').toString('base64url')}"}`,
    String.raw`{"a":"1\[redacted]"}`,
  ],
  [
    'wrong',
    `Basic ${Buffer.from('user:wrongly').toString('base64')}`,
    `Basic ${Buffer.from('user:wrongly').toString('base64')}`,
  ],
  ['p@ss', 'xp@ssy', 'x[redacted]y'],
  ['päss', 'päss and päsß, späss', '[redacted] and päsß, späss'],
  ['token', 'tokens of tokenizers, token: token', 'tokens of tokenizers, [redacted]: [redacted]'],
  ['sk_live_0123456789abcdef', 'xsk_live_0123456789abcdefy', 'x[redacted]y'],
])('the secret %j goes where it is a whole word, and longer words stay: %s', (secret, text, expected) => {
  expect(createRedactor([secret])(text)).toBe(expected);
});

const SEPARATORS = [' ', ':', '=', '/', '"', '@', ',', '\n', '\\n', '%20', '-', '.', '(', '\u001b[1m'];

test('a short secret never stays as a word of its own, and words that contain it stay', () => {
  const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789_');
  const word = (minLength: number, maxLength: number) => fc.string({ unit: letter, minLength, maxLength });
  const secret = word(4, 12).filter((text) => !'[redacted]'.includes(text));
  const part = fc.oneof(
    fc.constant({ before: '', after: '' }),
    fc.record({ before: word(1, 4), after: word(0, 4) }),
    fc.record({ before: word(0, 4), after: word(1, 4) }),
  );
  const parts = fc.array(fc.record({ part, separator: fc.constantFrom(...SEPARATORS) }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(secret, parts, (value, drawn) => {
      const words = drawn.map(({ part: { before, after } }) => before + value + after);
      const text = drawn.map(({ separator }, index) => `${separator}${words[index]}`).join('');
      const expected = drawn.map(({ separator }, index) => {
        return `${separator}${words[index] === value ? '[redacted]' : words[index]}`;
      });
      expect(createRedactor([value])(text)).toBe(expected.join(''));
    }),
  );
});

test('a signature or token that nobody knows goes by its length, and ordinary words and UUIDs stay', () => {
  const hex = 'ab'.repeat(32);
  const base64 = Buffer.alloc(32, 7).toString('base64');
  const jwt = `${'a'.repeat(20)}.${'b'.repeat(30)}.${'c'.repeat(20)}`;
  expect(withoutOpaqueRuns(`${hex} ${base64} ${jwt} ${encodeURIComponent(base64)}`)).not.toMatch(/[a-z0-9]{12}/i);
  const plain = 'tenant 123e4567-e89b-12d3-a456-426614174000 at https://prod.dataapi.papermap.ai is unknown';
  expect(withoutOpaqueRuns(plain)).toBe(plain);
});
