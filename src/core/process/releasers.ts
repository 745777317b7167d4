type Release = () => void | Promise<void>;

/**
 * A stack of acquired resources. `release` releases them once, in reverse order. Acquire a resource, then push the
 * function that releases it.
 */
export class Releasers {
  readonly #stack: Release[] = [];
  #released: Promise<void> | null = null;

  push(release: Release): void {
    this.#stack.push(release);
  }

  /**
   * Releases all resources, the latest first. If one release fails, the others still run, and the first error is thrown
   * at the end.
   */
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
