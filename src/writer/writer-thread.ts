// Entry point of the writer's thread, never imported. Enables the compile cache before it loads the rest.
import { useCompileCache } from '../core/process/compile-cache.ts';

useCompileCache(process.env);
void import('./writer-loop.ts');
