type Release = () => void | Promise<void>;

/** What has been acquired, to be released in reverse and once: acquire something, then push what lets go of it. */
export class Releasers {
  readonly #stack: Release[] = [];
  #released: Promise<void> | null = null;

  push(release: Release): void {
    this.#stack.push(release);
  }

  /** Releases everything, the latest first. One failure does not keep the others; the first is thrown at the end. */
  release(): Promise<void> {
    this.#released ??= this.#releaseAll();
    return this.#released;
  }

  async #releaseAll(): Promise<void> {
    const errors: unknown[] = [];
    for (let release = this.#stack.pop(); release !== undefined; release = this.#stack.pop()) {
      try {
        await release();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
