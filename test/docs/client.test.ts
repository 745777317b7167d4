import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { UsageApiClient } from '../../src/usage-api/client.ts';
import { MAX_BODY_BYTES } from '../../src/usage-api/http/receive.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const text = read('docs/client.md');

/** The names in backquotes of the first column of a section's tables. */
function firstColumn(heading: string): string[] {
  const section = text.split('\n## ').find((part) => part.startsWith(heading)) ?? '';
  const cells = [...section.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name = '']) => name)).toSorted();
}

test('the page of the client names each of its methods', () => {
  const methods = Object.getOwnPropertyNames(UsageApiClient.prototype).filter((name) => name !== 'constructor');
  expect(firstColumn('Methods')).toEqual(methods.toSorted());
});

test('the types that are shipped say of each option what it does', () => {
  const [, body = ''] = /interface ClientSettings \{(.*?)^\}/ms.exec(read('dist/types/usage-api/client.d.ts')) ?? [];
  const options = [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
  expect(options.length).toBeGreaterThan(15);
  const explained = [...body.matchAll(/\*\/\n {4}(\w+)\??:/g)].map(([, name = '']) => name);
  expect(explained).toEqual(options);
  expect(body).toContain(`default ${MAX_BODY_BYTES / 1024 / 1024} MiB. */\n    maxBodyBytes?:`);
});

test('it names each code and class of an error', () => {
  const source = read('src/usage-api/errors.ts');
  const known = source.split(/^export class /m).flatMap((part) => {
    const [, name, code] = /^(\w+).*?super\('(\w+)'/s.exec(part) ?? [];
    return name === undefined ? [] : [{ name, code }];
  });
  expect(known.length).toBeGreaterThan(10);
  for (const { name, code } of known) expect(text).toContain(`| \`${code}\` | \`${name}\` |`);
  const others = ['bad_period', 'client_closed', 'listing_moved'];
  const places = ['src/core/period.ts', 'src/usage-api/http/attempt.ts', 'src/usage-api/usage-listing.ts'];
  for (const [at, code] of others.entries()) expect(read(places[at] ?? '')).toContain(`'${code}'`);
  expect(firstColumn('Errors')).toEqual([...known.map(({ code }) => code), ...others].toSorted());
});
