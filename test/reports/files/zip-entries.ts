import { crc32, inflateRawSync } from 'node:zlib';

/** Returns the entries of a ZIP file as text, by its central directory. Throws if a checksum is wrong. */
export function zipEntries(zip: Buffer): Record<string, string> {
  const end = zip.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  let at = zip.readUInt32LE(end + 16);
  const entries: Record<string, string> = {};
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, sum, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    const local = zip.readUInt32LE(at + 42);
    const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const packed = zip.subarray(begin, begin + size);
    const bytes = method === 0 ? packed : inflateRawSync(packed);
    if (crc32(bytes) !== sum) throw new Error(`${name} has another sum`);
    entries[name] = bytes.toString();
    at += 46 + nameLength + extra + comment;
  }
  return entries;
}
