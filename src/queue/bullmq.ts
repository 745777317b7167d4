import { createRequire } from 'node:module';

/**
 * BullMQ, which is CommonJS, required instead of imported: for an import Node reads through the source of the whole
 * package first to learn its names, which takes 50 MB for a moment and leaves a part of them to a daemon for good.
 */
export const bullmq: typeof import('bullmq') = createRequire(import.meta.url)('bullmq');
