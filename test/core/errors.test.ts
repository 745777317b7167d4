import { expect, test } from 'vitest';
import { AppError, InputError, packError, summarizeError, UsageError, unpackError } from '../../src/core/errors.ts';

test('an error carries the name of its class, a code, whether to retry, what to do and its cause', () => {
  class DiskError extends AppError {}
  const cause = new Error('ENOSPC');
  const error = new DiskError('disk', 'no room', { retryable: true, hint: 'make room', cause });
  expect(error).toMatchObject({ name: 'DiskError', code: 'disk', retryable: true, hint: 'make room', cause });
  expect(summarizeError(error)).toEqual({
    name: 'DiskError',
    code: 'disk',
    message: 'no room',
    retryable: true,
    hint: 'make room',
  });
});

test('an error about input keeps its field names replaceable in another thread', () => {
  const hintOf = (nameOf: (field: string) => string) => `add ${nameOf('credits_column')} or ${nameOf('amount_column')}`;
  const error = new InputError(() => 'no column to compare', hintOf);
  const arrived = unpackError(structuredClone(packError(error)));
  if (!(arrived instanceof InputError)) throw arrived;
  expect(arrived).toMatchObject({ code: 'usage', hint: 'add credits_column or amount_column' });
  expect(arrived.wordsFor((field) => `--${field.replace('_', '-')}`)).toEqual({
    message: 'no column to compare',
    hint: 'add --credits-column or --amount-column',
  });
});

test.each([
  [new UsageError('no such flag'), { name: 'UsageError', code: 'usage', message: 'no such flag', retryable: false }],
  [
    new TypeError('x is undefined'),
    { name: 'TypeError', code: 'internal', message: 'x is undefined', retryable: false },
  ],
  ['a text', { name: 'Error', code: 'internal', message: 'a text', retryable: false }],
  [undefined, { name: 'Error', code: 'internal', message: 'undefined', retryable: false }],
])('%o becomes plain data', (thrown, expected) => {
  expect(summarizeError(thrown)).toEqual(expected);
});

test.each([
  ['EACCES', 'not_permitted', 'access to /data/x'],
  ['EPERM', 'not_permitted', 'access to /data/x'],
  ['EROFS', 'not_permitted', 'read-only'],
  ['ENOSPC', 'disk_full', 'free space on the disk of /data/x'],
  ['EMFILE', 'too_many_files', 'ulimit'],
])('%s of the system becomes an error with a remedy', (code, own, hint) => {
  const refused = Object.assign(new Error(`${code}: refused, open '/data/x'`), { code, path: '/data/x' });
  expect(summarizeError(refused)).toMatchObject({
    ...{ code: own, message: refused.message, hint: expect.stringContaining(hint) },
    retryable: own !== 'not_permitted',
  });
});
