// Uploads one file, as the process of a backup does: upload-process.mjs ACCESS PREFIX PATH NAME

import { systemClock } from '../../build/core/clock.js';
import { withBucket } from '../../build/s3/bucket.js';
import { uploadFile } from '../../build/s3/upload.js';

const [access, prefix, path, name] = process.argv.slice(2);
const place = { access: JSON.parse(access), bucket: 'our-bucket', prefix };
const { signal } = new AbortController();
await withBucket({ place, clock: systemClock, signal }, (bucket) =>
  uploadFile({ bucket, path, name, isAbandoned: (other) => other.startsWith('ledger-') }),
);
