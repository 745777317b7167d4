import { AppError } from '../core/errors.ts';
import type { Writer } from './writer.ts';

/** The same writer, which tells each time that another process's lock has kept it from writing. */
export function noticeLock(writer: Writer, onLocked: () => void): Writer {
  return {
    migration: writer.migration,
    ended: writer.ended,
    close: () => writer.close(),
    async call(name, args, transfer) {
      try {
        return await writer.call(name, args, transfer);
      } catch (error) {
        if (error instanceof AppError && error.code === 'ledger_busy') onLocked();
        throw error;
      }
    },
  };
}
