import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** What the chain of a ledger ended with at some moment. */
export interface Checkpoint {
  ledgerId: string;
  /** Position of the last link. */
  seq: number;
  /** Its digest, hex. */
  digest: string;
  /** When the link was made, ISO-8601 UTC. */
  at: string;
}

export interface SignedCheckpoint extends Checkpoint {
  /** The beginning of its line, up to the comma before the signature: these bytes were signed. */
  signed: string;
  signature: Buffer;
}

const LINE =
  /^(\{"ledger":"([^"\\]+)","seq":([1-9]\d{0,15}),"digest":"([0-9a-f]{64})","at":"([^"\\]*)"),"signature":"([A-Za-z0-9+/]{86}==)"\}$/;

/** A line of JSON, without its line feed, signed by Ed25519. */
export function signCheckpoint({ ledgerId, seq, digest, at }: Checkpoint, privateKey: KeyObject): string {
  const signed = JSON.stringify({ ledger: ledgerId, seq, digest, at }).slice(0, -1);
  return `${signed},"signature":"${sign(null, Buffer.from(signed), privateKey).toString('base64')}"}`;
}

/** Reads what `signCheckpoint` has written; null for anything else. */
export function parseCheckpoint(line: string): SignedCheckpoint | null {
  const [, signed, ledgerId, seq, digest, at, base64] = LINE.exec(line) ?? [];
  if (signed === undefined || ledgerId === undefined || digest === undefined || at === undefined) return null;
  const signature = Buffer.from(String(base64), 'base64');
  // The last digit has bits that say nothing.
  if (signature.toString('base64') !== base64) return null;
  return { ledgerId, seq: Number(seq), digest, at, signed, signature };
}

/** The lines of a file of checkpoints; null when none of them is one. */
export function checkpointLines(file: string): string[] | null {
  const lines = file.split('\n').filter((line) => line !== '');
  return lines.some((line) => parseCheckpoint(line) !== null) ? lines : null;
}

export function isSignedBy({ signed, signature }: SignedCheckpoint, key: KeyObject): boolean {
  return verify(null, Buffer.from(signed), key, signature);
}

/** A public key in one word: what stands between the two lines of its PEM. */
export function formatKey(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Reads what `formatKey` has written; null for anything else. */
export function parseKey(text: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' && formatKey(key) === text ? key : null;
  } catch {
    return null;
  }
}
