/** Computes SHA-256 with the means of the platform: node:crypto in Node, WebCrypto in a browser. */
export type Sha256 = (data: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

const encoder = new TextEncoder();

export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
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

/** Reports whether every element of a proof's path is a SHA-256 in lower-case hex. */
export function isProofPath(path: readonly string[]): boolean {
  return path.every((hash) => /^[0-9a-f]{64}$/.test(hash));
}

/**
 * Computes the nodes of a Merkle tree from a leaf to the root, as in RFC 9162. The hash of a leaf is `SHA-256(00 ||
 * content)`; the hash of two siblings is `SHA-256(01 || left || right)`. `path` has the sibling at each level. Returns
 * the hash of the leaf first and the root last; null if `index` has more bits than `path` has hashes.
 */
export async function nodesToRoot(
  { index, leaf, path }: { index: number; leaf: string; path: readonly string[] },
  sha256: Sha256,
): Promise<Uint8Array[] | null> {
  if (!Number.isSafeInteger(index) || index < 0 || index >= 2 ** path.length) return null;
  let found = await sha256(toUtf8(`\0${leaf}`));
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
