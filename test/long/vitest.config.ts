import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

const { projects: _, ...shared } = base.test ?? {};

/** The long suites; each script of package.json names one folder. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/long/**/*.test.ts'],
    exclude: [],
    disableConsoleIntercept: true,
    testTimeout: 60 * 60_000,
  },
});
