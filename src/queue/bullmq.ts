import { createRequire } from 'node:module';

/**
 * BullMQ, loaded by `require` because it is CommonJS. For an import, Node first reads the source of the whole package
 * to find its exports, which takes 50 MB, and a daemon keeps part of them.
 */
export const bullmq: typeof import('bullmq') = createRequire(import.meta.url)('bullmq');
