// Uploads one file, as the process of a backup does: upload-process.mjs ACCESS PREFIX PATH NAME

import { systemClock } from '../../src/core/clock.ts';
import { withBucket } from '../../src/s3/bucket.ts';
import { uploadFile } from '../../src/s3/upload.ts';

const [access, prefix, path, name] = process.argv.slice(2);
const place = { access: JSON.parse(access), bucket: 'our-bucket', prefix };
const { signal } = new AbortController();
await withBucket({ place, clock: systemClock, signal }, (bucket) =>
  uploadFile({ bucket, path, name, isAbandoned: (other) => other.startsWith('ledger-') }),
);
