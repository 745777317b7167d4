import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import type { Reporter, TestModule } from 'vitest/node';

/** Says which files had begun when a worker died under them, and of what: Vitest only says that one did. */
export class LostFiles implements Reporter {
  readonly #begun = new Set<string>();
  readonly #ends: string[] = [];

  constructor() {
    subscribe('child_process', (message) => {
      const { process: child } = message as { process: ChildProcess };
      child.once('exit', (code, signal) => {
        // Workers that are no longer needed are ended by one of the two.
        if (signal === 'SIGTERM' || code === 0) return;
        this.#ends.push(`process ${child.pid} ended with ${signal ?? code} at ${new Date().toISOString()}`);
      });
    });
  }

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#begun.add(relativeModuleId);
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#begun.delete(relativeModuleId);
  }

  onTestRunEnd(): void {
    if (this.#begun.size === 0) return;
    const lines = [`not finished: ${[...this.#begun].join(', ')}`, ...this.#ends];
    process.stderr.write(`${lines.join('\n')}\n`);
  }
}
