import type { WithCheckpoint } from '../writer/session.ts';

/** Returns a list with one note if the checkpoint could not be written; otherwise an empty list. */
export function checkpointNotes({ checkpointFault }: WithCheckpoint): string[] {
  return checkpointFault === null ? [] : [`Cannot write a checkpoint of the head: ${checkpointFault}`];
}
