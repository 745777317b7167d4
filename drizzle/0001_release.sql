-- Written on every walk, read by nobody.
ALTER TABLE walks DROP COLUMN page_digests;
