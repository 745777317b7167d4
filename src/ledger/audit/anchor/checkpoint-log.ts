import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
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
import { linkTo } from '../../store/file/ledger-file.ts';
import { type Checkpoint, signCheckpoint } from './checkpoint.ts';

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

/** Where the checkpoints of a ledger lie. */
export function checkpointsBeside(ledgerPath: string): string {
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
