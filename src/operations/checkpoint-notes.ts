import type { WithCheckpoint } from '../writer/session.ts';

/** Returns the note about a checkpoint that could not be written; none if it was. */
export function checkpointNotes({ checkpointFault }: WithCheckpoint): string[] {
  return checkpointFault === null ? [] : [`Cannot write a checkpoint of the head: ${checkpointFault}`];
}
