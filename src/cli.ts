#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { main } from './commands/main.ts';

/**
 * V8 compiles undici's HTTP parser, which is WebAssembly, anew and optimized once it has run for this long, in V8's rough
 * measure of bytes executed: by default during the first response. That takes a core 100 ms, and a process that ends
 * meanwhile waits for it. So it happens after some hundred responses instead. V8 reads this when the parser is loaded.
 */
setFlagsFromString('--wasm-tiering-budget=1000000000');

process.exitCode = await main(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
