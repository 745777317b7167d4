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
import { linkAt } from '../../journal/links.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { linkTo } from '../../store/file/ledger-file.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ledgerId } from '../../store/schema/identity.ts';

/** From this size on the log gives way to a new one; the one before stays beside it as `checkpoints.log.1`. */
const LARGEST_LOG_BYTES = 8 * 1024 * 1024;

/** Where the key is kept when the configuration says nothing else. */
export function keyFileOf(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'checkpoint.key');
}

interface CheckpointLogOptions {
  keyFile: string;
  ledgerId: string;
  /** Does the work while no other process does such work on this ledger; at once when absent. */
  alone?: (work: () => void) => void;
}

function checkpointsBeside(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'checkpoints.log');
}

/** Appends a signed checkpoint of each new head to `checkpoints.log` beside the ledger. */
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
   * Notes a head that has been committed. The ledger stands whether this succeeds or not, so it never throws: returns
   * why the checkpoint could not be written, or null.
   */
  note(head: Omit<Checkpoint, 'ledgerId'>): string | null {
    try {
      this.#key ??= readOrMakeKey(this.#keyFile);
      const line = signCheckpoint({ ...head, ledgerId: this.#ledgerId }, this.#key);
      this.#makeRoom();
      // One short write at the end of the file: several processes may do so at once.
      appendFileSync(this.#file, `${line}\n`, { mode: 0o600 });
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** A process that has waited for another's turn looks again, or it would put the new log in the place of the full one. */
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

/** The public half of the ledger's own key; null when it has none yet. */
export function publicKeyOf(keyFile: string): KeyObject | null {
  return existsSync(keyFile) ? createPublicKey(readFileSync(keyFile, 'utf8')) : null;
}

/** Why no checkpoint could be signed with this key, which is still to be made where there is no file; null when one could. */
export function keyFault(keyFile: string): string | null {
  if (!existsSync(keyFile)) return folderFault(dirname(keyFile));
  try {
    readOrMakeKey(keyFile);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** A secret of its own for links, which follows from the ledger's key; null where that cannot be read or made. */
export function linkKeyOf(keyFile: string): string | null {
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

/** The key gets its name once it is on the disk, whole: half a key would sign nothing for ever. The first of several stays. */
function makeKey(keyFile: string): void {
  const { privateKey } = generateKeyPairSync('ed25519');
  mkdirSync(dirname(keyFile), { recursive: true, mode: 0o700 });
  const part = `${keyFile}.part-${randomId().slice(0, 8)}`;
  try {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(part, pem, { flag: 'wx', mode: 0o600, flush: true });
    if (!linkTo(part, keyFile, () => new Error('another process has made a key meanwhile'))) renameSync(part, keyFile);
  } catch (error) {
    if (!existsSync(keyFile)) throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

/**
 * Why the file at the ledger's path is not the ledger that was last written there, with both heads: another one, an older
 * copy, or one with another history. Null when it goes on from its last checkpoint, or there is none to compare with.
 */
export function headMismatch(connection: LedgerDb, ledgerPath: string): string | null {
  const id = ledgerId(connection);
  const last = lastCheckpoint(ledgerPath, id);
  if (last === null) return null;
  const head = headOfChain(connection);
  const here = `link ${head.seq} (${head.digest})`;
  const then = `link ${last.seq} (${last.digest}, ${last.at})`;
  if (last.ledgerId !== id)
    return `it is the ledger ${id} at ${here}; the last checkpoint is of ${last.ledgerId} at ${then}`;
  if (last.seq > head.seq) return `it is an older copy, which ends at ${here}; its last checkpoint is ${then}`;
  const digest = linkAt(connection, last.seq)?.digest;
  return digest === last.digest
    ? null
    : `its link ${last.seq} is ${digest}; its last checkpoint is ${then}, another history`;
}

/**
 * Why nothing beside the ledger tells what its chain ended with, though it has links, and the key that signs each of them: somebody
 * has taken the log away, or emptied it. Null when there is a checkpoint, or was none to be expected.
 */
export function lostCheckpoints(connection: LedgerDb, ledgerPath: string, keyFile: string): string | null {
  if (!existsSync(keyFile) || headOfChain(connection).seq === 0) return null;
  if (lastCheckpoint(ledgerPath, ledgerId(connection)) !== null) return null;
  const log = checkpointsBeside(ledgerPath);
  const found = existsSync(log) ? `${log} holds no checkpoint` : `${log} is gone`;
  return `${found}, though the key that signs them, ${keyFile}, is there`;
}

export const LOST_CHECKPOINTS_REMEDY =
  'unless you have moved it yourself, compare the ledger with a copy that was kept elsewhere (`usage-ledger verify --checkpoint FILE`); ' +
  'the next run begins a new log';

/** Of this ledger if a log has one, for ledgers in one folder share it; else of whichever was there last. */
function lastCheckpoint(ledgerPath: string, id: string): Checkpoint | null {
  const log = checkpointsBeside(ledgerPath);
  let another: Checkpoint | null = null;
  for (const file of [log, `${log}.1`]) {
    for (const line of linesOf(file).reverse()) {
      const checkpoint = parseCheckpoint(line);
      if (checkpoint?.ledgerId === id) return checkpoint;
      another ??= checkpoint;
    }
  }
  return another;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** What the chain of a ledger ended with at some moment. */
interface Checkpoint {
  ledgerId: string;
  seq: number;
  digest: string;
  at: string;
}

interface SignedCheckpoint extends Checkpoint {
  /** The beginning of its line, up to the comma before the signature: these bytes were signed. */
  signed: string;
  signature: Buffer;
}

const LINE =
  /^(\{"ledger":"([^"\\]+)","seq":([1-9]\d{0,15}),"digest":"([0-9a-f]{64})","at":"([^"\\]*)"),"signature":"([A-Za-z0-9+/]{86}==)"\}$/;

/** A line of JSON, without its line feed, signed by Ed25519. */
function signCheckpoint({ ledgerId, seq, digest, at }: Checkpoint, privateKey: KeyObject): string {
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
