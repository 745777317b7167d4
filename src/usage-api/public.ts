/** The service client as a library, exported by the package as `usage-ledger/client`. */
export { DEFAULT_SIGNING, type SigningScheme } from '../config/signing-scheme.ts';
export type { RequestDispatcher } from '../net/dispatcher.ts';
export type { UsageItem } from './answers/check-item.ts';
export { parseUsagePage, type UsagePage } from './answers/check-page.ts';
export type { PageWhere } from './answers/page-faults.ts';
export type { Dashboard, EmbedToken } from './answers/parse-response.ts';
export {
  type CallOptions,
  type CreateDashboardInput,
  type GenerateEmbedTokenInput,
  type RawPage,
  UsageApiClient,
  type UsageApiClientOptions,
  type UsagePageQuery,
} from './client.ts';
export {
  ApiError,
  BadRequestError,
  CancelledError,
  type EndpointLabel,
  ForbiddenError,
  InvalidRequestError,
  InvalidResponseError,
  NetworkError,
  NotFoundError,
  RateLimitedError,
  RedirectedError,
  ServerError,
  TimeoutError,
  UnauthorizedError,
} from './errors.ts';
export { MAX_BODY_BYTES } from './http/receive.ts';
export type { UsageQuery } from './request-checks.ts';
export { type SignedHeaders, type SignedRequest, type SigningCredentials, signRequest } from './sign.ts';
export type { ExactUsageItem, UsageListing, UsageListingQuery } from './usage-listing.ts';
