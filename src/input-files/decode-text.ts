/** Bytes that are looked at for UTF-16 without a byte-order mark. */
const SAMPLE_BYTES = 1000;

/**
 * Decodes text without its byte-order mark: UTF-16 by its mark or its zero bytes, else UTF-8, else Windows-1252. Null for
 * bytes that are no text in any of these. No byte becomes a question mark.
 */
export function decodeText(bytes: Buffer): string | null {
  for (const encoding of candidateEncodings(bytes)) {
    const text = decode(bytes, encoding);
    if (text !== null) return text;
  }
  return null;
}

function candidateEncodings(bytes: Buffer): string[] {
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe') return ['utf-16le'];
  if (mark === 'feff') return ['utf-16be'];
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  // In UTF-16, Latin text has a zero in almost every unit, always on the same side.
  const [even = 0, odd = 0] = zeros;
  const most = sample.length * 0.3;
  if (even === 0 && odd > most) return ['utf-16le'];
  if (odd === 0 && even > most) return ['utf-16be'];
  return ['utf-8', 'windows-1252'];
}

/** Any bytes decode as Windows-1252, but no text file has its control characters. */
function decode(bytes: Buffer, encoding: string): string | null {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    const unexpected = encoding === 'windows-1252' ? /[\u0000-\u0008\u000e-\u001f\u0080-\u009f]/ : /\0/;
    return unexpected.test(text) ? null : text;
  } catch {
    return null;
  }
}
