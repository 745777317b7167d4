import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { PageLog } from '../../../../src/ledger/journal/staging/page-log.ts';

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest();

test('digests are in page order, whatever order the pages arrived in', () => {
  const log = new PageLog();
  const pages = Array.from({ length: 200 }, (_, index) => index + 1);
  for (const page of [1, ...pages.slice(1).reverse()]) log.note(page, 10, sha256(`page ${page}`));
  const digests = pages.map((page) => sha256(`page ${page}`));

  expect(log.size).toBe(200);
  expect(log.digests()).toEqual(Buffer.concat(digests));
});

test('missing pages leave no trace; short and repeated ones are counted', () => {
  const log = new PageLog();
  const rows = [
    [1, 10, 'a'],
    [2, 9, 'b'],
    [5, 0, 'a'],
    [7, 10, 'c'],
    [9, 3, 'd'],
  ] as const;
  for (const [page, records, text] of rows) log.note(page, records, sha256(text));

  expect(log.size).toBe(5);
  expect(log.digests()).toEqual(Buffer.concat(['a', 'b', 'a', 'c', 'd'].map(sha256)));
  expect(log.shortPages(9)).toBe(2);
  expect(log.repeatedPages()).toBe(1);
});
