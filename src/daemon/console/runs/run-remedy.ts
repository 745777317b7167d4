const DOCTOR_COMMAND = 'Run `usage-ledger doctor --probe`, which tests the service step by step.';
const WAIT = 'The daemon tries again by itself.';

/** The remedies for failed runs, by error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  network: `Check that the service is reachable from this machine. ${WAIT}`,
  timeout: `Check whether the service is slow, or raise timeout_seconds of the workspace. ${WAIT}`,
  server_error: `The service failed. ${WAIT} If it persists, tell its operator.`,
  rate_limited: `${WAIT} If it persists, lower requests_per_second or concurrency of the workspace.`,
  unauthorized: 'Check api_key_id and secret_key of the workspace, and the clock of this machine.',
  forbidden: 'Check the workspace id and the permissions of the API key.',
  not_found: 'Check the address of the service and the workspace id.',
  bad_request: 'The message of the service names the problem. Correct the settings of the workspace.',
  redirected: 'Set the address of the service to the one that it redirects to.',
  invalid_response: 'The response does not match the API specification. Tell the operator of the service.',
  unstable: `The listing changed while it was read. ${WAIT} If it persists, sync when little is written.`,
  suspicious_empty: 'Ask the operator of the service whether the listing is right. Nothing was withdrawn.',
  suspicious_shrink:
    'Ask the operator of the service whether these tenants are gone. If so, let one run pass with suspicious_shrink: 1.',
  implausible_listing: `${WAIT} If it persists, tell the operator of the service.`,
  listing_too_long: 'Check with the operator of the service whether that is right. If so, raise the limit.',
  run_timeout: `${WAIT} Raise run_minutes if the listing has grown.`,
  superseded: 'Nothing to do: a later run has read the same months.',
  stopping: 'Nothing to do: the daemon was stopped, and reads again after its start.',
  cancelled: 'Nothing to do: the run was cancelled.',
};

/** Returns the remedy for a run that failed with this error code. */
export function runRemedy(code: string): string {
  return REMEDIES[code] ?? DOCTOR_COMMAND;
}
