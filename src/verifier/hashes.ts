/** SHA-256 of the platform: Node's, or WebCrypto's in a browser. */
export type Sha256 = (data: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

const encoder = new TextEncoder();

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Decodes hex. An invalid pair of digits becomes a 0 byte. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil(hex.length / 2));
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

export function isPath(path: readonly string[]): boolean {
  return path.every((hash) => /^[0-9a-f]{64}$/.test(hash));
}

/**
 * Hashes a leaf with the siblings on its path, as in RFC 9162: `SHA-256(00 || content)`, `SHA-256(01 || left ||
 * right)`. Returns each node from the leaf up; the last is the root. Returns null if the index has more bits than the
 * path has hashes.
 */
export async function nodesToRoot(
  { index, leaf, path }: { index: number; leaf: string; path: readonly string[] },
  sha256: Sha256,
): Promise<Uint8Array[] | null> {
  if (!Number.isSafeInteger(index) || index < 0 || index >= 2 ** path.length) return null;
  let found = await sha256(utf8(`\0${leaf}`));
  const nodes = [found];
  let left = index;
  for (const hash of path) {
    const node = new Uint8Array(65);
    node[0] = 1;
    const isRight = left % 2 === 1;
    node.set(isRight ? fromHex(hash) : found, 1);
    node.set(isRight ? found : fromHex(hash), 33);
    found = await sha256(node);
    nodes.push(found);
    left = Math.floor(left / 2);
  }
  return nodes;
}
