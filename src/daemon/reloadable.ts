import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/types.ts';

/** A part of the daemon that is restarted when a reload changes the settings it depends on. */
export class Reloadable<Part extends { stop(): Promise<void> }> {
  readonly #of: (config: Config) => unknown;
  readonly #start: () => Promise<Part | null>;
  #startedWith: unknown;
  #stopped = false;
  part: Part | null = null;

  constructor(of: (config: Config) => unknown, start: () => Promise<Part | null>) {
    this.#of = of;
    this.#start = start;
  }

  async apply(config: Config): Promise<void> {
    const startedWith = this.#of(config);
    if (this.#stopped || (this.part !== null && isDeepStrictEqual(this.#startedWith, startedWith))) return;
    await this.part?.stop();
    // The part is null until the start succeeds, so that the next reload tries again if the start fails.
    this.part = null;
    this.part = await this.#start();
    this.#startedWith = startedWith;
    if (this.#stopped) await this.part?.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.part?.stop();
  }
}
