// Entry point of the writer's thread; no module imports it. It enables the compile cache before it loads other code.
import { useCompileCache } from '../core/process/compile-cache.ts';

useCompileCache(process.env);
void import('./writer-loop.ts');
