import type { Period } from '../../../core/period.ts';
import type { ScannedPage } from '../../../speed/scan-page.ts';
import type { StagedRecord } from './staged-record.ts';

/** The largest number of repeated keys that are recorded. An error names only the first few. */
const MAX_REPEATED = 8;

/** A record that a walk contains more than once. */
export interface RepeatedRecord {
  tenantId: string;
  period: Period;
  /**
   * The page of each occurrence of the record. The page of the first occurrence is missing when no earlier walk
   * repeated the record.
   */
  pages: number[];
  isFirstMissing: boolean;
  /** True when the occurrences of the record have different figures. */
  differs: boolean;
}

/** Details of the signs that the listing changed during a walk, for the error message of the run. */
export interface WalkFlaws {
  repeated: RepeatedRecord[];
  /** The first page whose totals differ from those of the page that was read first. */
  changedTotals: { page: number; totalRecords: number; totalPages: number; firstPage: number } | null;
  /** The first record outside the window. */
  outside: { period: Period; page: number } | null;
  /** Two pages with the same content. */
  identicalPages: [number, number] | null;
  shortPage: { page: number; records: number; fullPage: number } | null;
}

interface Sighting {
  page: number;
  credits: number | bigint;
  requests: number | bigint;
}

/** A key that a walk contains more than once. */
export interface RepeatedKey {
  period: Period;
  tenantKey: number;
}

interface Suspect {
  tenantId: string;
  period: Period;
  sightings: Sighting[];
}

/**
 * Finds the pages that repeat a record. The key set of a walk shows that a key has occurred before, but not on which
 * page. So each page of the next walk is searched for the keys that the previous walk repeated. If the previous walk
 * repeated none, nothing is searched.
 */
export class RepeatedRecordFinder {
  readonly #suspects: Suspect[];
  /** By key, the pages on which the key occurred again. The page of the first occurrence is not contained. */
  readonly #later = new Map<string, RepeatedKey & { pages: number[] }>();

  constructor(suspects: readonly { tenantId: string; period: Period }[] = []) {
    this.#suspects = suspects.map(({ tenantId, period }) => ({ tenantId, period, sightings: [] }));
  }

  get hasSuspects(): boolean {
    return this.#suspects.length > 0;
  }

  note(period: Period, tenantKey: number, page: number): void {
    const key = `${period} ${tenantKey}`;
    const known = this.#later.get(key);
    if (known !== undefined) known.pages.push(page);
    else if (this.#later.size < MAX_REPEATED) this.#later.set(key, { period, tenantKey, pages: [page] });
  }

  lookIn(page: number, records: Iterable<StagedRecord>): void {
    for (const { tenantId, period, credits, requests } of records) {
      const suspect = this.#suspects.find((each) => each.tenantId === tenantId && each.period === period);
      suspect?.sightings.push({ page, credits, requests });
    }
  }

  get keys(): RepeatedKey[] {
    return [...this.#later.values()];
  }

  /** Lists the repeated records. The records for which the pages of all occurrences are known come first. */
  list(tenantIdOf: (tenantKey: number) => string): RepeatedRecord[] {
    const complete = this.#suspects
      .filter(({ sightings }) => sightings.length > 1)
      .map(({ tenantId, period, sightings }): RepeatedRecord => {
        const [first] = sightings as [Sighting];
        const differs = sightings.some(({ credits, requests }) => {
          return credits !== first.credits || requests !== first.requests;
        });
        const pages = sightings.map(({ page }) => page).sort((a, b) => a - b);
        return { tenantId, period, pages, isFirstMissing: false, differs };
      });
    const others = [...this.#later.values()].map(({ tenantKey, period, pages }): RepeatedRecord => {
      const tenantId = tenantIdOf(tenantKey);
      return { tenantId, period, pages: pages.toSorted((a, b) => a - b), isFirstMissing: true, differs: false };
    });
    const isListed = (one: RepeatedRecord) =>
      complete.some((each) => each.tenantId === one.tenantId && each.period === one.period);
    return [...complete, ...others.filter((one) => !isListed(one))];
  }
}

/** Yields the records of a scanned page. */
export function* recordsOf(page: ScannedPage): Generator<StagedRecord> {
  const body = Buffer.from(page.body.buffer, page.body.byteOffset, page.body.byteLength);
  for (let at = 0; at < page.records; at += 1) {
    yield {
      tenantId: body.toString('utf8', page.idStarts[at], page.idEnds[at]),
      period: page.periods[at] as Period,
      credits: page.credits[at] as number,
      requests: page.requests[at] as number,
    };
  }
}
