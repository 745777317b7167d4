// Preloaded into a process: notes in the file that $LOADS names whether Postgres's client is asked for, by any thread.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    if (/^pg(-|$)/.test(specifier)) appendFileSync(process.env.LOADS, `${specifier}\n`);
    return next(specifier, context);
  },
});
