import { defineConfig } from 'vitest/config';
import base from '../../../vitest.config.ts';

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/clocks/*.test.ts'],
    exclude: [],
    disableConsoleIntercept: true,
    testTimeout: 60 * 60_000,
  },
});
