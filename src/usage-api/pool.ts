import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import type { Pool as PoolClass } from 'undici';

/**
 * V8 compiles undici's HTTP parser, which is WebAssembly, anew and optimized once it has run for this long, in V8's rough
 * measure of bytes executed: by default during the first response. That takes a core 100 ms, and a process that ends
 * meanwhile waits for it. So it happens after some hundred responses instead. V8 reads this when the parser is loaded.
 */
setFlagsFromString('--wasm-tiering-budget=1000000000');

/**
 * undici's pool from its own file: the entry of the package loads fetch, WebSocket, caches and mocks too, which costs
 * every process that talks to the service 75 ms and 10 MB. The path is not documented, so a new version may move it;
 * then nothing here works, and no test passes.
 */
export const Pool: typeof PoolClass = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js');
export type Pool = PoolClass;
