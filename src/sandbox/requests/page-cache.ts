/**
 * Answers kept for load tests, where the stand-in must not be what is measured. A full cache takes nothing more in:
 * walks read in sequence, so throwing out the oldest page would throw out the one that is needed next.
 */
export interface PageCache {
  /** The answer kept under this key, unless its stamp is another by now. */
  get(key: string, stamp: string): Buffer | null;
  put(key: string, stamp: string, body: Buffer): void;
}

/** Keeps up to `limitBytes` of bodies; with 0 it keeps nothing. */
export function createPageCache(limitBytes: number): PageCache {
  const pages = new Map<string, { stamp: string; body: Buffer }>();
  let bytes = 0;
  return {
    get(key, stamp) {
      const page = pages.get(key);
      return page?.stamp === stamp ? page.body : null;
    },
    put(key, stamp, body) {
      const size = bytes - (pages.get(key)?.body.length ?? 0) + body.length;
      if (size > limitBytes) return;
      pages.set(key, { stamp, body });
      bytes = size;
    },
  };
}
