import { customType } from 'drizzle-orm/sqlite-core';

/** Credits and counts of requests: exact up to 2^63-1, so a `bigint`, never a `number`. Read with `safeIntegers`. */
export const int64 = customType<{ data: bigint; driverData: bigint }>({ dataType: () => 'integer' });
