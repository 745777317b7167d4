import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type WalkOptions, type WalkSource, walkPages } from '../../src/sync/walk.ts';
import type { PageReceipt } from '../../src/writer/run-commands.ts';
import { rejection } from '../support/rejection.ts';

const PAGE = { body: [] };

test('every page is fetched and staged once, the first alone and the rest with bounded concurrency', async () => {
  const fetched: number[] = [];
  const staged: number[] = [];
  let inFlight = 0;
  let peak = 0;
  const source = sourceOf(30, {
    fetchPage: async (page) => {
      if (page > 1) expect(staged).toContain(1);
      fetched.push(page);
      inFlight += 1;
      peak = Math.max(peak, inFlight);
      await turn();
      inFlight -= 1;
      return PAGE;
    },
    stagePage: async (page) => {
      staged.push(page);
      return totals(30);
    },
  });
  const progress: [number, number][] = [];

  await walkPages(source, optionsWith({ concurrency: 4, onPage: (done, total) => progress.push([done, total]) }));

  const pages = Array.from({ length: 30 }, (_, index) => index + 1);
  expect([...fetched].sort((a, b) => a - b)).toEqual(pages);
  expect([...staged].sort((a, b) => a - b)).toEqual(pages);
  expect(peak).toBe(4);
  expect(progress).toEqual(pages.map((done) => [done, 30]));
});

test('a walk ends early when a page before the last is short, however many pages are announced', async () => {
  const fetched: number[] = [];
  const source = sourceOf(1_000_000_000, {
    fetchPage: noted(fetched),
    stagePage: async (page) => ({ ...totals(1_000_000_000), records: page < 20 ? 100 : 0 }),
  });
  await walkPages(source, optionsWith({ concurrency: 3 }));
  expect(fetched.length).toBeLessThan(60);
});

test.each([0, 1])('a listing of %i pages is read with one request', async (totalPages) => {
  const fetched: number[] = [];
  const source = sourceOf(totalPages, { fetchPage: noted(fetched) });
  await walkPages(source, optionsWith({}));
  expect(fetched).toEqual([1]);
});

test('a page that says other totals stops the walk early and without an error', async () => {
  const fetched: number[] = [];
  const source = sourceOf(1_000, {
    fetchPage: noted(fetched),
    stagePage: async (page) => (page === 5 ? { ...totals(1_000), totalRecords: 1 } : totals(1_000)),
  });

  await walkPages(source, optionsWith({ concurrency: 3 }));

  expect(fetched.length).toBeGreaterThanOrEqual(5);
  expect(fetched.length).toBeLessThan(20);
});

test('the first failure ends the walk: it is thrown, requests under way are aborted, none is begun', async () => {
  const aborted: number[] = [];
  const fetched: number[] = [];
  const source = sourceOf(100, {
    fetchPage: async (page, signal) => {
      fetched.push(page);
      if (page === 1) return PAGE;
      if (page === 3) throw new Error('page 3 failed');
      await untilAborted(signal);
      aborted.push(page);
      throw new Error(`page ${page} was aborted`);
    },
  });

  const error = await rejection(walkPages(source, optionsWith({ concurrency: 3 })));

  expect(error.message).toBe('page 3 failed');
  expect(fetched).toEqual([1, 2, 3, 4]);
  expect(aborted).toEqual([2, 4]);
});

test('a page that staging refuses ends the walk with what staging said', async () => {
  const fetched: number[] = [];
  const source = sourceOf(1_000, {
    fetchPage: noted(fetched),
    stagePage: async (page) => {
      if (page === 4) throw new Error('page 4 is not JSON');
      return totals(1_000);
    },
  });

  const error = await rejection(walkPages(source, optionsWith({ concurrency: 2 })));

  expect(error.message).toBe('page 4 is not JSON');
  expect(fetched.length).toBeLessThan(20);
});

test('an abort from outside ends the walk with its reason once nothing is under way', async () => {
  const stop = new AbortController();
  let underWay = 0;
  const source = sourceOf(100, {
    fetchPage: async (page, signal) => {
      if (page === 1) return PAGE;
      underWay += 1;
      if (page === 3) stop.abort(new Error('stopped'));
      await untilAborted(signal);
      underWay -= 1;
      throw new Error('aborted');
    },
  });

  const error = await rejection(walkPages(source, optionsWith({ concurrency: 2, signal: stop.signal })));

  expect(error.message).toBe('stopped');
  expect(underWay).toBe(0);
});

test('pages that staging has not taken yet are bounded however fast they come', async () => {
  let fetched = 0;
  let peak = 0;
  const waiting: (() => void)[] = [];
  const source = sourceOf(500, {
    fetchPage: async () => {
      fetched += 1;
      return PAGE;
    },
    stagePage: (page) => {
      if (page === 1) return Promise.resolve(totals(500));
      return new Promise((resolve) => {
        waiting.push(() => resolve(totals(500)));
        peak = Math.max(peak, waiting.length);
      });
    },
  });
  const walk = walkPages(source, optionsWith({ concurrency: 8 }));
  while (fetched < 500 || waiting.length > 0) {
    for (let idle = 0; idle < 20; idle += 1) await turn();
    waiting.shift()?.();
  }
  await walk;
  expect(peak).toBeGreaterThanOrEqual(64);
  expect(peak).toBeLessThanOrEqual(64 + 8);
});

test.each<[string, Omit<PageReceipt, 'newKeys' | 'unchanged'>, string]>([
  ['more records than allowed', { records: 100, totalPages: 11, totalRecords: 1100 }, 'listing_too_long'],
  ['more pages than allowed', { records: 1, totalPages: 60, totalRecords: 60 }, 'listing_too_long'],
  ['more pages than its records fill', { records: 100, totalPages: 8, totalRecords: 200 }, 'implausible_listing'],
  ['fewer pages than its records need', { records: 10, totalPages: 1, totalRecords: 500 }, 'implausible_listing'],
  ['records, and gives none', { records: 0, totalPages: 5, totalRecords: 500 }, 'implausible_listing'],
  ['pages without records', { records: 0, totalPages: 5, totalRecords: 0 }, 'implausible_listing'],
  ['two pages without records', { records: 0, totalPages: 2, totalRecords: 0 }, 'implausible_listing'],
])('a listing that announces %s is refused after its first page', async (_, receipt, code) => {
  const fetched: number[] = [];
  const source = sourceOf(1, {
    fetchPage: noted(fetched),
    stagePage: async () => ({ ...receipt, newKeys: receipt.records, unchanged: false }),
  });
  const limits = { maxRecords: 1000, maxPages: 50 };
  const retryable = code === 'implausible_listing';
  expect(await rejection(walkPages(source, optionsWith({ limits })))).toMatchObject({ code, retryable });
  expect(fetched).toEqual([1]);
});

test('one lane has at most 64 pages lie between fetching and staging', async () => {
  const fetched: number[] = [];
  const stop = new AbortController();
  const source = sourceOf(500, {
    fetchPage: noted(fetched),
    stagePage: (page, _) =>
      page === 1 ? Promise.resolve(totals(500)) : untilAborted(stop.signal).then(() => totals(500)),
  });
  const walk = rejection(walkPages(source, optionsWith({ concurrency: 1, signal: stop.signal })));
  for (let idle = 0; idle < 200; idle += 1) await turn();
  // The first page has been staged.
  expect(fetched.length).toBe(1 + 64);
  stop.abort(new Error('stopped'));
  await walk;
});

test('a walk has ended when its last page is staged, and not before', async () => {
  const last = Promise.withResolvers<void>();
  let ended = false;
  const source = sourceOf(3, {
    stagePage: async (page) => {
      if (page === 3) await last.promise;
      return totals(3);
    },
  });
  const walk = walkPages(source, optionsWith({})).then(() => {
    ended = true;
  });
  for (let idle = 0; idle < 20; idle += 1) await turn();
  expect(ended).toBe(false);
  last.resolve();
  await walk;
});

test('the first page waits for its turn like the others', async () => {
  const events: string[] = [];
  const source = sourceOf(2, {
    fetchPage: async (page) => {
      events.push(`page ${page}`);
      return PAGE;
    },
  });
  await walkPages(source, optionsWith({ pace: async () => void events.push('turn') }));
  expect(events).toEqual(['turn', 'page 1', 'turn', 'page 2']);
});

test('room is asked for what has been staged so far, beside what was announced', async () => {
  const asked: [number, number][] = [];
  const room: WalkOptions['room'] = (...[staged, announced]) => {
    asked.push([staged, announced]);
    return undefined;
  };
  await walkPages(sourceOf(4, {}), optionsWith({ concurrency: 1, room }));
  expect(asked[0]).toEqual([100, 400]);
  for (const [at, [staged]] of asked.entries()) expect(staged).toBeLessThanOrEqual(100 * (at + 1));
  expect(asked.every(([staged]) => staged >= 100 && staged % 100 === 0)).toBe(true);
});

test('a page of one record that was read already ends the walk', async () => {
  const fetched: number[] = [];
  const source = sourceOf(1000, {
    fetchPage: noted(fetched),
    stagePage: async (page) => ({ ...totals(1000), records: 1, newKeys: page < 5 ? 1 : 0, totalRecords: 1000 }),
  });
  await walkPages(source, optionsWith({ concurrency: 1 }));
  expect(fetched.length).toBeLessThan(20);
});

test('what a page holds in memory is let go of once it is staged, and also when staging refuses it', async () => {
  let held = 0;
  const release = (): void => {
    held -= 1;
  };
  const source = sourceOf(20, {
    fetchPage: async () => {
      held += 1;
      return { body: [], release };
    },
  });
  await walkPages(source, optionsWith({}));
  expect(held).toBe(0);
  const refusing = { ...source, stagePage: () => Promise.reject(new Error('no')) };
  await rejection(walkPages(refusing, optionsWith({})));
  expect(held).toBe(0);
});

function totals(totalPages: number): PageReceipt {
  return { records: 100, newKeys: 100, totalPages, totalRecords: totalPages * 100, unchanged: false };
}

function sourceOf(totalPages: number, some: Partial<WalkSource>): WalkSource {
  return { fetchPage: async () => PAGE, stagePage: async () => totals(totalPages), ...some };
}

function noted(fetched: number[]): WalkSource['fetchPage'] {
  return (page) => {
    fetched.push(page);
    return turn(PAGE);
  };
}

function optionsWith(some: Partial<WalkOptions>): WalkOptions {
  return {
    concurrency: 4,
    pace: () => Promise.resolve(),
    limits: { maxRecords: Number.MAX_SAFE_INTEGER, maxPages: Number.MAX_SAFE_INTEGER },
    signal: new AbortController().signal,
    onPage: () => undefined,
    ...some,
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
