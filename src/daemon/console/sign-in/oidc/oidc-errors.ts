import { AppError, summarizeError } from '../../../../core/errors.ts';

/** The form of OAuth error codes, with which a provider refuses a sign-in. */
const REFUSAL = /^[a-z_]{1,60}$/;

/** Remedies for a sign-in that the provider refused, by OAuth error code. */
const PROVIDER_REMEDIES: Readonly<Record<string, string>> = {
  access_denied: 'ask the operator of the sign-in provider for access to this program, then sign in again',
  login_required: 'sign in again',
  invalid_client: 'let the operator check http.oidc.client_id and client_secret',
  unauthorized_client: 'let the operator allow the authorization code flow for this client at the provider',
  invalid_grant: 'sign in again; an answer of the provider counts only once',
  invalid_scope: 'let the operator check http.oidc.scopes',
};

const AGAIN = 'sign in again';
const MEANWHILE = 'try again in a minute, or sign in with a token';

/**
 * Converts an error of a sign-in. The result is `oidc_refused` if the provider refused the sign-in, or if its answer is
 * not valid; it is `oidc_provider` if the provider cannot be reached or used. The provider's texts are not shown,
 * because anybody can write a link that contains such a text.
 */
export function toSignInError(error: unknown, issuer: string): AppError {
  const refusal = refusalCode(error);
  if (refusal !== null) {
    const hint = PROVIDER_REMEDIES[refusal] ?? AGAIN;
    return new AppError('oidc_refused', `the sign-in provider ${issuer} refused the sign-in (${refusal})`, { hint });
  }
  const own = appErrorIn(error);
  if (own !== null) {
    const { message, hint } = summarizeError(own);
    const why = hint === undefined ? message : `${message}; ${hint}`;
    return new AppError('oidc_provider', `cannot reach the sign-in provider ${issuer}: ${why}`, {
      hint: MEANWHILE,
      retryable: true,
      cause: own,
    });
  }
  const code = codeOf(error);
  if (code !== null && /JWT|STATE|INVALID_RESPONSE|ATTRIBUTE_COMPARISON/.test(code)) {
    const message = `the answer of the sign-in provider ${issuer} is not valid (${code})`;
    return new AppError('oidc_refused', message, { hint: AGAIN, cause: error });
  }
  const reason = code ?? summarizeError(error).message;
  return new AppError('oidc_provider', `cannot use the sign-in provider ${issuer}: ${reason}`, {
    hint: `let the operator check http.oidc and the provider; ${MEANWHILE}`,
    retryable: true,
    cause: error,
  });
}

function refusalCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('error' in error)) return null;
  return typeof error.error === 'string' && REFUSAL.test(error.error) ? error.error : 'unknown';
}

/**
 * Returns this program's own error, which openid-client may have wrapped in errors of its own; null if there is none.
 */
function appErrorIn(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  return error instanceof Error && error.cause !== undefined ? appErrorIn(error.cause) : null;
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
