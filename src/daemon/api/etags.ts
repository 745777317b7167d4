import { createHash } from 'node:crypto';
import type { Config } from '../../config/types.ts';
import type { WallClock } from '../../core/clock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** Maximum number of URLs with a remembered tag. */
const MAX_REMEMBERED = 500;
/** A tag is computed again after this time, because some answers depend on the clock. */
const REMEMBERED_MS = 60_000;

interface Remembered {
  etag: string;
  version: number;
  config: Config;
  atMs: number;
}

/**
 * The entity tags of answers. A tag is a hash of the answer, so the tag changes when the answer does. Tags are
 * remembered until the ledger changes, so that polling an unchanged ledger only reads its version.
 */
export class EntityTags {
  readonly #known = new Map<string, Remembered>();
  readonly #connection: LedgerDb;
  readonly #config: () => Config;
  readonly #clock: WallClock;

  constructor(connection: LedgerDb, config: () => Config, clock: WallClock) {
    this.#connection = connection;
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * Returns the remembered tag of a URL; null if the ledger or the configuration has changed since, or the tag is too
   * old.
   */
  current(address: string): string | null {
    const known = this.#known.get(address);
    if (known === undefined || known.config !== this.#config() || known.version !== this.#version()) return null;
    const ageMs = this.#clock.now() - known.atMs;
    return ageMs >= 0 && ageMs < REMEMBERED_MS ? known.etag : null;
  }

  /**
   * Computes the tag of an answer and remembers it for the URL. `version` is the ledger's version before the answer was
   * read.
   */
  remember(address: string, body: string, version: number): string {
    const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    this.#known.delete(address);
    this.#known.set(address, { etag, version, config: this.#config(), atMs: this.#clock.now() });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_REMEMBERED) break;
      this.#known.delete(oldest);
    }
    return etag;
  }

  /** Returns the ledger's version: a number that changes when another connection commits a change. */
  version(): number {
    return this.#version();
  }

  #version(): number {
    return this.#connection.pragma('data_version', { simple: true }) as number;
  }
}

/** Reports whether an If-None-Match header lists a tag. */
export function isListed(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}
