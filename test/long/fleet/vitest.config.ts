import { defineConfig } from 'vitest/config';

/** A hundred workspaces under one daemon for ten minutes, or for `FLEET_SECONDS`. */
export default defineConfig({
  test: {
    include: ['test/long/fleet/*.test.ts'],
    testTimeout: 30 * 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    disableConsoleIntercept: true,
  },
});
