import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { identify } from '../../src/input-files/file-content.ts';
import { readInputFile } from '../../src/input-files/input-file.ts';
import { readTable } from '../../src/input-files/read-table.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { rowsXml, workbook, zipped } from './write-workbook.ts';

const OLE2 = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const ole2With = (stream: string) => Buffer.concat([OLE2, Buffer.alloc(504), Buffer.from(stream, 'utf16le')]);
const SHEET = workbook({
  sheets: [
    {
      name: 'A',
      xml: rowsXml([
        ['customer', 'net'],
        ['a', 1],
      ]),
    },
  ],
});
const hex = (digits: string) => Buffer.concat([Buffer.from(digits, 'hex'), Buffer.alloc(40, 7)]);

test.each<[what: string, bytes: Buffer | string]>([
  [
    'an HTML page (it begins with "<!doctype html>")',
    readFileSync(new URL('fixtures/invoices-login-page.csv', import.meta.url)),
  ],
  ['an HTML page (it begins with "<html lang=\\"en\\">")', '\ufeff\n <html lang="en"><body>Sign in</body></html>'],
  ['an HTML page (it begins with "<table>")', '<table><tr><td>customer</td><td>net</td></tr></table>'],
  ['an HTML page (it begins with "<!-- saved from the portal -->")', '<!-- saved from the portal -->\n<html></html>'],
  ['an XML document (it begins with "<?xml version=\\"1.0\\"?>")', '<?xml version="1.0"?><invoices/>'],
  [
    'an XML spreadsheet (it begins with "<?xml version=\\"1.0\\"?>")',
    '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>',
  ],
  ['an SVG image', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['a JSON document', '{"error":"not signed in"}'],
  ['a JSON document', ' [\n {"customer":"a"}]'],
  ['a JSON document', '{"customer":"a","net":1}\n{"customer":"b","net":2}\n'],
  ['a PDF document', '%PDF-1.7\n'],
  ['a PNG image', hex('89504e470d0a1a0a')],
  ['a JPEG image', hex('ffd8ffe0')],
  ['a gzip-compressed file', gzipSync('customer,net\na,1\n')],
  ['an SQLite database', hex('53514c69746520666f726d6174203300')],
  ['an Excel workbook with a password', ole2With('EncryptedPackage')],
  ['an old Excel workbook (.xls)', ole2With('Workbook')],
  ['a file of an old Office program', ole2With('WordDocument')],
  ['a Word document', zipped({ '[Content_Types].xml': '', 'word/document.xml': '' })],
  ['a binary Excel workbook (.xlsb)', zipped({ '[Content_Types].xml': '', 'xl/workbook.bin': '' })],
  ['an OpenDocument file (.ods)', zipped({ mimetype: '', 'content.xml': '' })],
  ['a ZIP archive (with "invoices.csv" in it)', zipped({ 'invoices.csv': 'customer,net\n' })],
  ['an incomplete or damaged ZIP archive, as a workbook is that was cut off', SHEET.subarray(0, SHEET.length - 30)],
  ['an incomplete or damaged ZIP archive, as a workbook is that was cut off', 'PK\u0003\u0004'],
  ['not a text file: it has bytes that no text has', Buffer.from([0x61, 0x81, 0x00, 0xff])],
  ['empty (0 bytes)', ''],
])('a file is called %s, and refused where a table is wanted', async (what, bytes) => {
  expect(identify(Buffer.from(bytes)).description).toBe(what);
  const error = await rejection(readTable({ name: 'a.csv', bytes: Buffer.from(bytes) }, { required: ['net'] }));
  expect(error).toMatchObject({ message: `a.csv is ${what}`, code: 'usage' });
});

test.each(['customer,net\n<b>a</b>,1\n', '[Invoices]\ncustomer,net\n', '{x},net\n', 'a < b\n'])(
  '%j is text',
  (text) => {
    expect(identify(Buffer.from(text)).kind).toBe('text');
  },
);

test('a workbook is one whatever its name is', async () => {
  const { rows } = await readTable({ name: 'a.csv', bytes: SHEET }, { required: ['customer', 'net'] });
  expect(rows.map(({ record }) => record)).toEqual([{ customer: 'a', net: '1' }]);
});

test('what is no regular file, or changes while it is read, is refused and never waited for', () => {
  const folder = temporaryFolder();
  const path = (name: string) => join(folder, name);
  mkdirSync(path('folder'));
  execFileSync('mkfifo', [path('pipe')]);
  writeFileSync(path('growing.csv'), 'customer,net\n');
  const messageOf = (name: string, read?: (fd: number) => Buffer) => {
    try {
      readInputFile(path(name), name, read);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(messageOf('folder')).toBe('folder is a folder');
  expect(messageOf('pipe')).toBe('pipe is a pipe');
  expect(messageOf('missing.csv')).toBe('missing.csv cannot be read (it does not exist)');
  expect(messageOf('growing.csv')).toBeNull();
  const appendAndRead = (fd: number) => {
    const bytes = readFileSync(fd);
    appendFileSync(path('growing.csv'), 'a,1\n');
    return bytes;
  };
  expect(messageOf('growing.csv', appendAndRead)).toBe('growing.csv changed while it was read');
  writeFileSync(path('large.csv'), '');
  truncateSync(path('large.csv'), 300 * 1024 * 1024);
  expect(messageOf('large.csv')).toBe('large.csv has 300 MiB; the limit is 256 MiB');
});
