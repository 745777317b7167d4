import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Checkpoint, checkpointText, originOf } from './checkpoint.ts';
import { type NoteVerifier, signNote, verifierOf } from './signed-note.ts';

/** From this size on the log gives way to a new one; the one before stays beside it as `checkpoints.log.1`. */
const LARGEST_LOG_BYTES = 8 * 1024 * 1024;

/** Where the key is kept when the configuration says nothing else. */
export function keyFileOf(ledgerPath: string): string {
  return join(dirname(ledgerPath), 'checkpoint.key');
}

/** Appends a signed checkpoint of each new head to `checkpoints.log` beside the ledger. */
export class CheckpointLog {
  readonly #file: string;
  readonly #keyFile: string;
  readonly #ledgerId: string;
  #key: KeyObject | null = null;

  constructor(ledgerPath: string, { keyFile, ledgerId }: { keyFile: string; ledgerId: string }) {
    this.#file = join(dirname(ledgerPath), 'checkpoints.log');
    this.#keyFile = keyFile;
    this.#ledgerId = ledgerId;
  }

  /**
   * Notes a head that has been committed. The ledger stands whether this succeeds or not, so it never throws: returns
   * why the checkpoint could not be written, or null.
   */
  note(head: Omit<Checkpoint, 'ledgerId'>): string | null {
    try {
      this.#key ??= readOrMakeKey(this.#keyFile);
      const text = checkpointText({ ...head, ledgerId: this.#ledgerId });
      this.#makeRoom();
      // One short write at the end of the file: several processes may do so at once.
      appendFileSync(this.#file, `${signNote(text, originOf(this.#ledgerId), this.#key)}\n`, { mode: 0o600 });
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #makeRoom(): void {
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= LARGEST_LOG_BYTES) renameSync(this.#file, `${this.#file}.1`);
  }
}

/** The public half of the ledger's own key; null when it has none yet. */
export function ownVerifier(keyFile: string, ledgerId: string): NoteVerifier | null {
  if (!existsSync(keyFile)) return null;
  return verifierOf(originOf(ledgerId), createPublicKey(readFileSync(keyFile, 'utf8')));
}

function readOrMakeKey(keyFile: string): KeyObject {
  if (!existsSync(keyFile)) {
    const { privateKey } = generateKeyPairSync('ed25519');
    try {
      writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600 });
    } catch (error) {
      // Another process has made it meanwhile.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  return createPrivateKey(readFileSync(keyFile, 'utf8'));
}
