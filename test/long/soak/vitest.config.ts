import { defineConfig } from 'vitest/config';
import base from '../../../vitest.config.ts';

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/soak/*.test.ts'],
    exclude: [],
    disableConsoleIntercept: true,
    testTimeout: 60 * 60_000,
  },
});
