import { defineConfig } from 'vitest/config';
import base from '../../../vitest.config.ts';

/** Syncs and alerts while Postgres is well, frozen, dead, or not there at all. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/replica/*.test.ts'],
    exclude: [],
    disableConsoleIntercept: true,
    testTimeout: 30 * 60_000,
  },
});
