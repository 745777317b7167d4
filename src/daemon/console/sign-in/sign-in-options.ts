import type { Logger } from '../../../core/logger.ts';
import type { OidcSignIn } from './oidc/oidc-sign-in.ts';
import type { Sessions, SessionToken } from './sessions.ts';

export interface SignInOptions {
  sessions: Sessions;
  tokens: () => readonly SessionToken[];
  oidc: OidcSignIn;
  publicUrl: () => string | null;
  logger: Logger;
}
