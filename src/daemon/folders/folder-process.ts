import { packError } from '../../core/errors.ts';
import { FOLDER_COMMANDS } from './folder-commands.ts';

/** A request of `openFolders`; requests are answered in order. */
export interface FolderRequest {
  id: number;
  command: keyof typeof FOLDER_COMMANDS;
  args: readonly unknown[];
}

// This file is run, never imported.
let last: Promise<void> = Promise.resolve();
process.on('message', ({ id, command, args }: FolderRequest) => {
  last = last.then(async () => {
    const work = FOLDER_COMMANDS[command] as (...args: readonly unknown[]) => unknown;
    try {
      const result = await work(...args);
      process.send?.({ id, result });
    } catch (error) {
      process.send?.({ id, error: packError(error) });
    }
  });
});
process.once('disconnect', () => process.exit());
