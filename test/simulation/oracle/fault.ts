/** Something that is not as the documentation promises. */
export class PromiseBroken extends Error {
  override readonly name = 'PromiseBroken';
  /** Which promise: shrinking keeps to events that break the same one. */
  readonly promise: string;

  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`);
    this.promise = promise;
  }
}

/** For what is said of a fault. */
export function minutes(ms: number): number {
  return Math.round(ms / 60_000);
}
