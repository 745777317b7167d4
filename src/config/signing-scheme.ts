/** How requests are signed. The interface document leaves this open, so each part can be set. */
export interface SigningScheme {
  /** Template of the signed text; `{workspace_id}` and `{valid_until}` are replaced. */
  payload: string;
  /** Encoding of X-Signature. */
  encoding: 'hex' | 'base64' | 'base64url';
  /** Format of X-Valid-Until. */
  validUntil: 'unix_seconds' | 'unix_millis' | 'iso8601';
  /** How long a signature stays valid, in seconds. */
  validForSeconds: number;
}

/** The scheme of the service's public documentation. */
export const DEFAULT_SIGNING: Readonly<SigningScheme> = {
  payload: '{workspace_id}{valid_until}',
  encoding: 'hex',
  validUntil: 'unix_seconds',
  validForSeconds: 300,
};
