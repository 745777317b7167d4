/** A notification to be sent. The payload is sent byte for byte as it is stored. */
export interface ChannelMessage {
  notificationId: string;
  payload: string;
  attempt: number;
}

/**
 * The result of one attempt. `reason` and `detail` are for people and never contain secrets or text of the receiver.
 *
 * - `delivered`: the receiver has the message; `refused` names the recipients that refused, if there are several.
 * - `retry`: a later attempt may work. `retryAfterMs` is the shortest wait that the receiver requested; null if it
 *   requested none. `unknown`: the receiver may have the message. `isDenial`: a permission or quota is missing, and the
 *   other channels are notified at once.
 * - `rejected`: the same attempt would fail again; the message is given up.
 * - `too_large`: the receiver does not accept this many bytes at once.
 * - `disabled`: the receiver wants no more messages on this channel.
 * - `cancelled`: the caller's signal interrupted the attempt, which is not counted.
 */
export type DeliveryResult =
  | { outcome: 'delivered'; detail: string; refused?: string }
  | { outcome: 'retry'; reason: string; retryAfterMs: number | null; unknown: boolean; isDenial?: boolean }
  | { outcome: 'rejected'; reason: string }
  | { outcome: 'too_large'; reason: string }
  | { outcome: 'disabled'; reason: string }
  | { outcome: 'cancelled' };

/** A receiver of notifications. */
export interface Channel {
  readonly name: string;
  readonly type: string;
  /** Makes one attempt. Failures of the receiver or of the connection are returned, not thrown. */
  deliver(message: ChannelMessage, options: { signal: AbortSignal }): Promise<DeliveryResult>;
}
