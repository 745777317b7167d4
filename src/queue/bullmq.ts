import { createRequire } from 'node:module';

/**
 * The BullMQ package, loaded with `require` because it is a CommonJS package. To import such a package, Node first
 * reads its whole source to find the exports. That takes 50 MB of memory, part of which a daemon never gives back.
 */
export const bullmq: typeof import('bullmq') = createRequire(import.meta.url)('bullmq');
