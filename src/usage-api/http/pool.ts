import { createRequire } from 'node:module';
import type { Pool as PoolClass } from 'undici';

/**
 * undici's pool from its own file: the entry of the package loads fetch, WebSocket, caches and mocks too, which costs
 * every process that talks to the service 75 ms and 10 MB. The path is not documented, so a new version may move it;
 * then nothing here works, and no test passes.
 */
export const Pool: typeof PoolClass = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js');
export type Pool = PoolClass;
