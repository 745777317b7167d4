// Started, never imported: the writer's thread, which loads what it runs once Node knows where it is kept as compiled.
import { useCompileCache } from '../core/process/compile-cache.ts';

useCompileCache(process.env);
void import('./writer-loop.ts');
