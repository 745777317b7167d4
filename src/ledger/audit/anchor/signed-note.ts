import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** The kind of key, as signed notes number them: Ed25519. */
const ED25519 = 1;
const KEY_BYTES = 32;
const HASH_BYTES = 4;

/** A text and who has signed it, as C2SP's "signed note" writes both. The text ends with a line feed. */
export interface SignedNote {
  text: string;
  signatures: { name: string; keyHash: Buffer; signature: Buffer }[];
}

/** A public key with its name; its text form is `NAME+HASH+KEY`. */
export interface NoteVerifier {
  name: string;
  keyHash: Buffer;
  key: KeyObject;
}

/** The note over `text`, signed under `name`: the text, an empty line, and one line of signature. */
export function signNote(text: string, name: string, privateKey: KeyObject): string {
  const { keyHash } = verifierOf(name, createPublicKey(privateKey));
  const signature = sign(null, Buffer.from(text), privateKey);
  return `${text}\n— ${name} ${Buffer.concat([keyHash, signature]).toString('base64')}\n`;
}

/** Every note of a file, in its order; null when anything in it is no note. */
export function parseNotes(file: string): SignedNote[] | null {
  const notes: SignedNote[] = [];
  const pattern = /((?:[^\n—][^\n]*\n)+)\n((?:— \S+ [A-Za-z0-9+/=]+\n)+)\n*/y;
  while (pattern.lastIndex < file.length) {
    const [, text, lines] = pattern.exec(file) ?? [];
    if (text === undefined || lines === undefined) return null;
    const signatures = lines
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, name = '', base64 = ''] = line.split(' ');
        const bytes = Buffer.from(base64, 'base64');
        return { name, keyHash: bytes.subarray(0, HASH_BYTES), signature: bytes.subarray(HASH_BYTES) };
      });
    notes.push({ text, signatures });
  }
  return notes;
}

/** Whether the holder of the key has signed the note under the key's name. */
export function isSignedBy({ text, signatures }: SignedNote, { name, keyHash, key }: NoteVerifier): boolean {
  return signatures.some(
    (signed) =>
      signed.name === name && signed.keyHash.equals(keyHash) && verify(null, Buffer.from(text), key, signed.signature),
  );
}

export function verifierOf(name: string, key: KeyObject): NoteVerifier {
  const raw = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  const hash = createHash('sha256').update(`${name}\n`).update(Buffer.of(ED25519)).update(raw).digest();
  return { name, keyHash: hash.subarray(0, HASH_BYTES), key };
}

export function formatVerifier({ name, keyHash, key }: NoteVerifier): string {
  const raw = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  return `${name}+${keyHash.toString('hex')}+${Buffer.concat([Buffer.of(ED25519), raw]).toString('base64')}`;
}

/** Reads `NAME+HASH+KEY`; null when it is no such text, or its hash is not that of its name and key. */
export function parseVerifier(text: string): NoteVerifier | null {
  const [, name, hash, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  if (name === undefined || base64 === undefined) return null;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== KEY_BYTES + 1 || bytes[0] !== ED25519) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') };
  const verifier = verifierOf(name, createPublicKey({ key: jwk, format: 'jwk' }));
  return verifier.keyHash.toString('hex') === hash ? verifier : null;
}
