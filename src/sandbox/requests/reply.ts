/** The envelope of every JSON answer (interface, section 2). */
export interface Envelope {
  message: string;
  success: boolean;
  data: Record<string, unknown> | null;
}

/** An answer before it is written. An envelope is JSON text already, so that integers stay exact. */
export interface Reply {
  status: number;
  body: string | Buffer;
  /** Besides Date, Content-Length and Content-Type: application/json, which they may replace. */
  headers?: Record<string, string>;
}

/** A success envelope around `dataJson`, which is JSON text. */
export function success(message: string, dataJson: string): Reply & { body: string } {
  return { status: 200, body: `{"message":${JSON.stringify(message)},"success":true,"data":${dataJson}}` };
}

/** An error envelope: success false, data null. */
export function failure(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return { status, body: JSON.stringify({ success: false, message, data: null }), headers };
}
