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

/**
 * The text of a checkpoint, in the lines of C2SP's "tlog-checkpoint": origin, position, digest in base64; then, as an extension,
 * the time. The digest is the head of a chain, where C2SP has a tree's root. The origin is also the name of the key that signs it.
 */
export function checkpointText({ ledgerId, seq, digest, at }: Checkpoint): string {
  return `${originOf(ledgerId)}\n${seq}\n${Buffer.from(digest, 'hex').toString('base64')}\ntime ${at}\n`;
}

export function originOf(ledgerId: string): string {
  return `usage-ledger/${ledgerId}`;
}

/** Reads the text of a checkpoint; null when it is none. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const pattern = /^usage-ledger\/(\S+)\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:time (\S+)\n)?$/;
  const [, ledgerId, seq, digest, at = ''] = pattern.exec(text) ?? [];
  if (ledgerId === undefined || digest === undefined) return null;
  return { ledgerId, seq: Number(seq), digest: Buffer.from(digest, 'base64').toString('hex'), at };
}
