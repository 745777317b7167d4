import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** The long suites; the scripts of package.json name a folder each. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/**/*.test.ts'],
    exclude: [],
    disableConsoleIntercept: true,
    testTimeout: 60 * 60_000,
  },
});
