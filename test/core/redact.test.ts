import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor } from '../../src/core/redact.ts';

test.each([
  { form: 'as it is', text: (secret: string) => `key ${secret} end` },
  { form: 'inside JSON', text: (secret: string) => JSON.stringify({ key: secret }) },
  { form: 'percent-encoded', text: (secret: string) => `https://host/?key=${encodeURIComponent(secret)}` },
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
