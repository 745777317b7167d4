import { systemUser } from '../../core/process/system-user.ts';
import { type Scope, statedActor } from '../../operations/operation.ts';
import type { Context } from '../../wiring/context.ts';

/** Returns the scope in which a command runs an operation. `by` is the name given with `--by`. */
export function scopeOf(
  context: Context,
  { by, signal }: { by?: string | undefined; signal?: AbortSignal } = {},
): Scope {
  return {
    context,
    // Opened on first use, because the writer creates a missing ledger.
    get connection() {
      return context.reader().connection;
    },
    actor: by === undefined ? { name: systemUser(), kind: 'terminal' } : statedActor(by),
    signal: signal ?? new AbortController().signal,
  };
}
