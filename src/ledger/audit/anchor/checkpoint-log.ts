import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { folderFault } from '../../../core/process/folder-fault.ts';
import { randomId } from '../../../core/randomness.ts';
import { findLink } from '../../journal/chain.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { createHardLink } from '../../store/file/ledger-file.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ledgerId } from '../../store/schema/identity.ts';

/** The log is rotated when it reaches this size. The previous log is kept as `checkpoints.log.1`. */
const LARGEST_LOG_BYTES = 8 * 1024 * 1024;

/** Returns the default path of the signing key. */
export function checkpointKeyPath(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'checkpoint.key');
}

interface CheckpointLogOptions {
  keyFile: string;
  ledgerId: string;
  /**
   * Runs `work` while no other process runs such work on this ledger. If this function is absent, the work runs at
   * once.
   */
  alone?: (work: () => void) => void;
}

function checkpointsBeside(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'checkpoints.log');
}

/** Appends a signed checkpoint of each new head (last link of the chain) to `checkpoints.log` next to the ledger. */
export class CheckpointLog {
  readonly #file: string;
  readonly #keyFile: string;
  readonly #ledgerId: string;
  readonly #alone: (work: () => void) => void;
  #key: KeyObject | null = null;

  constructor(ledgerPath: string, { keyFile, ledgerId, alone = (work) => work() }: CheckpointLogOptions) {
    this.#file = checkpointsBeside(ledgerPath);
    this.#keyFile = keyFile;
    this.#ledgerId = ledgerId;
    this.#alone = alone;
  }

  /**
   * Logs a committed head. Never throws, because the ledger is valid without the checkpoint: returns why the checkpoint
   * could not be written, or null.
   */
  note(head: Omit<Checkpoint, 'ledgerId'>): string | null {
    try {
      this.#key ??= readOrMakeKey(this.#keyFile);
      const line = signCheckpoint({ ...head, ledgerId: this.#ledgerId }, this.#key);
      this.#makeRoom();
      // Several processes may append at the same time. A short write at the end of a file is not mixed with other
      // writes.
      appendFileSync(this.#file, `${line}\n`, { mode: 0o600 });
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }

  /**
   * Rotates a full log. Checks the size again after waiting for another process, which may have rotated the log
   * meanwhile.
   */
  #makeRoom(): void {
    if (!this.#isFull()) return;
    this.#alone(() => {
      if (this.#isFull()) renameSync(this.#file, `${this.#file}.1`);
    });
  }

  #isFull(): boolean {
    return (statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) >= LARGEST_LOG_BYTES;
  }
}

/** Returns the public key that belongs to the ledger's signing key; null when the signing key does not exist yet. */
export function readCheckpointPublicKey(keyFile: string): KeyObject | null {
  return existsSync(keyFile) ? createPublicKey(readFileSync(keyFile, 'utf8')) : null;
}

/**
 * Returns why checkpoints cannot be signed with the key in this file or, if the file is missing, why a key cannot be
 * created. Null when signing works.
 */
export function findSigningKeyFault(keyFile: string): string | null {
  if (!existsSync(keyFile)) return folderFault(dirname(keyFile));
  try {
    readOrMakeKey(keyFile);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Derives the secret that signs links in notifications from the ledger's key; null when the key cannot be read or
 * created.
 */
export function deriveLinkSecret(keyFile: string): string | null {
  try {
    const pem = readOrMakeKey(keyFile).export({ type: 'pkcs8', format: 'pem' });
    return createHmac('sha256', pem).update('links').digest('hex');
  } catch {
    return null;
  }
}

function readOrMakeKey(keyFile: string): KeyObject {
  if (!existsSync(keyFile)) makeKey(keyFile);
  return createPrivateKey(readFileSync(keyFile, 'utf8'));
}

/**
 * Creates a key file. The file gets its final name only when it is completely on disk, so that no process reads half a
 * key. If several processes create a key, the first one is kept.
 */
function makeKey(keyFile: string): void {
  const { privateKey } = generateKeyPairSync('ed25519');
  mkdirSync(dirname(keyFile), { recursive: true, mode: 0o700 });
  const part = `${keyFile}.part-${randomId().slice(0, 8)}`;
  try {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(part, pem, { flag: 'wx', mode: 0o600, flush: true });
    if (!createHardLink(part, keyFile, () => new Error('another process has created the key')))
      renameSync(part, keyFile);
  } catch (error) {
    if (!existsSync(keyFile)) throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

/**
 * Compares the ledger with the last checkpoint in its folder. Returns a message when the file is another ledger, is an
 * older copy, or has a different history. Returns null when the chain contains the last checkpoint, or when there is no
 * checkpoint.
 */
export function describeHeadMismatch(connection: LedgerDb, ledgerPath: string): string | null {
  const id = ledgerId(connection);
  const last = lastCheckpoint(ledgerPath, id);
  if (last === null) return null;
  const head = headOfChain(connection);
  const here = `link ${head.seq} (${head.digest})`;
  const then = `link ${last.seq} (${last.digest}, ${last.at})`;
  if (last.ledgerId !== id)
    return `it is ledger ${id} at ${here}; the last checkpoint belongs to ledger ${last.ledgerId} at ${then}`;
  if (last.seq > head.seq) return `it is an older copy, which ends at ${here}; its last checkpoint is ${then}`;
  const digest = findLink(connection, last.seq)?.digest;
  return digest === last.digest
    ? null
    : `its history differs: link ${last.seq} is ${digest}, but its last checkpoint is ${then}`;
}

/**
 * Returns a message when the checkpoint log was removed or emptied: the chain has links and the signing key exists, but
 * no checkpoint does. Otherwise null.
 */
export function describeMissingCheckpoints(connection: LedgerDb, ledgerPath: string, keyFile: string): string | null {
  if (!existsSync(keyFile) || headOfChain(connection).seq === 0) return null;
  if (lastCheckpoint(ledgerPath, ledgerId(connection)) !== null) return null;
  const log = checkpointsBeside(ledgerPath);
  const found = existsSync(log) ? `${log} contains no checkpoint` : `${log} is missing`;
  return `${found}, but the signing key ${keyFile} exists`;
}

export const MISSING_CHECKPOINTS_REMEDY =
  'unless you moved the log yourself, compare the ledger with a copy kept elsewhere (`usage-ledger verify --checkpoint FILE`); ' +
  'the next run starts a new log';

/**
 * Returns the last checkpoint of this ledger. If there is none, returns the last checkpoint of any ledger, because
 * ledgers in one folder share a log.
 */
function lastCheckpoint(ledgerPath: string, id: string): Checkpoint | null {
  const log = checkpointsBeside(ledgerPath);
  let another: Checkpoint | null = null;
  for (const file of [log, `${log}.1`]) {
    for (const line of linesInFile(file).reverse()) {
      const checkpoint = parseCheckpoint(line);
      if (checkpoint?.ledgerId === id) return checkpoint;
      another ??= checkpoint;
    }
  }
  return another;
}

function linesInFile(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** The head (last link) of a ledger's chain at some moment. */
interface Checkpoint {
  ledgerId: string;
  seq: number;
  digest: string;
  at: string;
}

interface SignedCheckpoint extends Checkpoint {
  /** The signed bytes: the checkpoint's line up to the comma before the signature. */
  signed: string;
  signature: Buffer;
}

const LINE =
  /^(\{"ledger":"([^"\\]+)","seq":([1-9]\d{0,15}),"digest":"([0-9a-f]{64})","at":"([^"\\]*)"),"signature":"([A-Za-z0-9+/]{86}==)"\}$/;

/** Returns a checkpoint as a line of JSON without line feed, signed with Ed25519. */
function signCheckpoint({ ledgerId, seq, digest, at }: Checkpoint, privateKey: KeyObject): string {
  const signed = JSON.stringify({ ledger: ledgerId, seq, digest, at }).slice(0, -1);
  return `${signed},"signature":"${sign(null, Buffer.from(signed), privateKey).toString('base64')}"}`;
}

/** Parses a line written by `signCheckpoint`; returns null for any other line. */
export function parseCheckpoint(line: string): SignedCheckpoint | null {
  const [, signed, ledgerId, seq, digest, at, base64] = LINE.exec(line) ?? [];
  if (signed === undefined || ledgerId === undefined || digest === undefined || at === undefined) return null;
  const signature = Buffer.from(String(base64), 'base64');
  // The last base64 digit has unused bits, so the same signature can be written in several ways. Only the form with
  // zero bits is accepted.
  if (signature.toString('base64') !== base64) return null;
  return { ledgerId, seq: Number(seq), digest, at, signed, signature };
}

/** Splits the content of a checkpoint file into lines; null when no line is a checkpoint. */
export function splitCheckpointFile(file: string): string[] | null {
  const lines = file.split('\n').filter((line) => line !== '');
  return lines.some((line) => parseCheckpoint(line) !== null) ? lines : null;
}

export function isSignedBy({ signed, signature }: SignedCheckpoint, key: KeyObject): boolean {
  return verify(null, Buffer.from(signed), key, signature);
}

/** Formats a public key as one word: the body of its PEM. */
export function formatPublicKey(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Parses a key written by `formatPublicKey`; returns null for any other text. */
export function parsePublicKey(text: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' && formatPublicKey(key) === text ? key : null;
  } catch {
    return null;
  }
}
