/** The number of bytes that are examined to recognize UTF-16 without a byte-order mark. */
const SAMPLE_BYTES = 1000;

/**
 * Decodes the bytes of a text file. The result does not contain the byte-order mark. UTF-16 is recognized by its
 * byte-order mark or its zero bytes; other text is decoded as UTF-8 or, if this fails, as Windows-1252. Returns null if
 * the bytes are not text in any of these encodings. No byte is replaced by a question mark.
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
  // In UTF-16, almost every character of Latin text has one zero byte, always the first or always the second of its two
  // bytes.
  const [even = 0, odd = 0] = zeros;
  const most = sample.length * 0.3;
  if (even === 0 && odd > most) return ['utf-16le'];
  if (odd === 0 && even > most) return ['utf-16be'];
  return ['utf-8', 'windows-1252'];
}

/**
 * Returns the text, or null if the bytes are not text in this encoding. Any bytes can be decoded as Windows-1252, so
 * text with control characters is refused there.
 */
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
