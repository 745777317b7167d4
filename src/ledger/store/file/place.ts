import { accessSync, constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../../core/errors.ts';
import { requireSafePlace } from '../../../core/process/safe-place.ts';
import { LedgerError } from '../errors.ts';
import { requireGroup } from './reader-group.ts';

/**
 * Refuses a place where no ledger can be written, or where somebody else could put something, before anything is made
 * there: what opens the ledger and what only says whether it would open ask this alike.
 *
 * @throws LedgerError `ledger_link_broken`, `ledger_is_folder`, `ledger_unwritable`, `reader_group`; AppError `unsafe_place`.
 */
export function requireLedgerPlace(path: string, readerGroup?: string): void {
  refuseDanglingLink(path);
  const folder = dirname(path);
  requireSafePlace(folder, "the ledger's folder");
  requireSafePlace(path, 'the ledger');
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new LedgerError('ledger_is_folder', `${path} is a folder, and the ledger is a file`, {
      hint: 'set ledger.path to a file in a folder of its own',
    });
  }
  // SQLite writes its log beside the file, so the folder counts as much as the file.
  for (const place of existsSync(path) ? [path, folder] : [nearestFolder(path)]) requireWritable(place);
  if (readerGroup !== undefined) requireGroup(path, readerGroup);
}

/** A link to nothing, such as to a disk that is not mounted: a new ledger behind it would hide the one that is meant. */
export function refuseDanglingLink(path: string): void {
  if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new LedgerError('ledger_link_broken', `${path} is a link to ${readlinkSync(path)}, which does not exist`, {
    hint: 'mount the disk that it leads to, or correct the link or ledger.path',
  });
}

/** The folder that a file is in, or the deepest one above it that exists. */
export function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

function requireWritable(place: string): void {
  try {
    accessSync(place, constants.W_OK);
  } catch (cause) {
    throw new LedgerError('ledger_unwritable', `${place} cannot be written: ${messageOf(cause)}`, {
      hint: 'give the user that runs usage-ledger the right to write there, or change ledger.path',
      cause,
    });
  }
}
