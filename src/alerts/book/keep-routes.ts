import { hostname } from 'node:os';
import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { ALERT_ROUTES, writeMeta } from '../../ledger/store/schema/identity.ts';
import { type StoredRoutes, storedRoutes } from '../track/routes.ts';
import { askSoon } from './ask.ts';

/**
 * Stores the routes of a process. A daemon's replace what is there: of several, the last to start wins. A command's replace
 * only what a command has stored, so that they count where no daemon runs. Then everything open is asked for. Returns the
 * other routes that were there before; null when there were none.
 */
export function keepRoutes(
  connection: Database.Database,
  { nowMs, ...own }: Pick<StoredRoutes, 'routes' | 'by'> & { nowMs: number },
): StoredRoutes | null {
  const isSame = (before: StoredRoutes | null) => JSON.stringify(before?.routes) === JSON.stringify(own.routes);
  const stays = (before: StoredRoutes | null) =>
    before?.by === own.by ? isSame(before) : before?.by === 'daemon' && own.by === 'command';
  // Whoever has nothing to store does not wait for the one that writes.
  if (stays(storedRoutes(connection))) return null;
  return connection
    .transaction(() => {
      const before = storedRoutes(connection);
      if (stays(before)) return null;
      const stored: StoredRoutes = { ...own, host: hostname(), since: isoTime(nowMs) };
      writeMeta(connection, ALERT_ROUTES, JSON.stringify(stored));
      if (isSame(before)) return null;
      askSoon(connection, null, nowMs);
      return before;
    })
    .immediate();
}
