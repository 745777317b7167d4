import { expect, test } from 'vitest';
import { type RefusedRequest, requiredPermission, toRefusalError } from '../../src/s3/refusals.ts';

/** The rights as the service authorization reference of Amazon S3 lists them for each operation. */
test.each<[Parameters<typeof requiredPermission>[0], string]>([
  [{ method: 'PUT', name: 'a.db' }, 's3:PutObject'],
  [{ method: 'PUT', name: 'a.db', query: { partNumber: '1', uploadId: 'u' } }, 's3:PutObject'],
  [{ method: 'POST', name: 'a.db', query: { uploads: '' } }, 's3:PutObject'],
  [{ method: 'POST', name: 'a.db', query: { uploadId: 'u' } }, 's3:PutObject'],
  [{ method: 'GET', name: 'a.db' }, 's3:GetObject'],
  [{ method: 'HEAD', name: 'a.db' }, 's3:GetObject and s3:ListBucket'],
  [{ method: 'DELETE', name: 'a.db' }, 's3:DeleteObject'],
  [{ method: 'DELETE', name: 'a.db', query: { uploadId: 'u' } }, 's3:AbortMultipartUpload'],
  [{ method: 'GET', name: null, query: { 'list-type': '2' } }, 's3:ListBucket'],
  [{ method: 'GET', name: null, query: { uploads: '', prefix: '' } }, 's3:ListBucketMultipartUploads'],
])('%j needs %s', (request, right) => {
  expect(requiredPermission(request)).toBe(right);
});

const PUT: RefusedRequest = { label: 'PUT s3://b/p/a.db', permission: 's3:PutObject', place: 's3://b/p/*' };

test.each<[status: number, code: string | null, own: string, words: RegExp, remedy: RegExp]>([
  [
    403,
    'AccessDenied',
    's3_denied',
    /it refused s3:PutObject$/,
    /^grant s3:PutObject on s3:\/\/b\/p\/\* to `s3\.access_key_id`$/,
  ],
  [
    403,
    null,
    's3_denied',
    /it refused s3:PutObject$/,
    /^grant s3:PutObject .*check `s3.access_key_id` and its secret$/,
  ],
  [403, 'SignatureDoesNotMatch', 's3_denied', /the secret does not belong to the key$/, /`s3\.secret_access_key`/],
  [403, 'InvalidAccessKeyId', 's3_denied', /it does not know the key$/, /`s3\.access_key_id`/],
  [400, 'ExpiredToken', 's3_denied', /the key has expired$/, /`s3\.access_key_id`/],
  [403, 'AllAccessDisabled', 's3_denied', /switched off$/, /operator/],
  [403, 'QuotaExceeded', 's3_full', /quota of the bucket is used up$/, /^raise the quota/],
  [507, 'XMinioStorageFull', 's3_full', /disk of the service is full$/, /^make room/],
  [404, 'NoSuchBucket', 's3_no_bucket', /404 NoSuchBucket$/, /^create the bucket/],
  [503, 'SlowDown', 's3_failed', /503 SlowDown$/, /status page/],
])('%i %s is %s', (status, code, own, words, remedy) => {
  const error = toRefusalError(PUT, { status, code, region: null });
  expect(error).toMatchObject({ code: own, retryable: status >= 500, hint: expect.stringMatching(remedy) });
  expect(error.message).toMatch(words);
  expect(error.message).toContain(`PUT s3://b/p/a.db: the service answered ${status}`);
});
