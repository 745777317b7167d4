import type { PageScript } from './tenant-page.ts';

/** What `prove-page.ts` comes to with all that it imports: the build writes it here. */
export const PAGE_SCRIPT: PageScript = { text: '', sha256: '' };
