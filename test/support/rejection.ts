/** The error with which a promise is rejected; fails when it is fulfilled. Its fields are left to the test. */
export async function rejection(promise: Promise<unknown>): Promise<Rejection> {
  try {
    await promise;
  } catch (error) {
    return error as Rejection;
  }
  throw new Error('it was fulfilled');
}

/** The error that work throws; fails when it throws none. */
export function thrownBy(work: () => unknown): Rejection {
  try {
    work();
  } catch (error) {
    return error as Rejection;
  }
  throw new Error('nothing was thrown');
}

/** An AppError with what its subclasses add; absent fields are undefined. */
export interface Rejection extends Error {
  code?: string;
  retryable?: boolean;
  hint?: string;
  retryAfterMs?: number;
}
