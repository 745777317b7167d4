/** A notification on its way: the payload is sent byte for byte as it was stored. */
export interface ChannelMessage {
  notificationId: string;
  payload: string;
  attempt: number;
}

/**
 * What became of one attempt. `reason` and `detail` are for people and never carry secrets or text of the receiver.
 *
 * - `delivered`: the receiver has it; `refused` says of whom it was refused, where it has several recipients.
 * - `retry`: it may work later; `retryAfterMs` is the least wait the receiver asked for. `unknown`: it may have it all the same.
 *   `isDenial`: a right or a quota is missing there, and the other channels are notified at once.
 * - `rejected`: the same attempt would fail again; a dead letter.
 * - `too_large`: the receiver does not take so many bytes at once.
 * - `disabled`: the receiver wants nothing more on this channel.
 * - `cancelled`: cut off by the caller's signal, so it does not count as an attempt.
 */
export type DeliveryResult =
  | { outcome: 'delivered'; detail: string; refused?: string }
  | { outcome: 'retry'; reason: string; retryAfterMs: number | null; unknown: boolean; isDenial?: boolean }
  | { outcome: 'rejected'; reason: string }
  | { outcome: 'too_large'; reason: string }
  | { outcome: 'disabled'; reason: string }
  | { outcome: 'cancelled' };

/** A place that notifications are delivered to. */
export interface Channel {
  readonly name: string;
  readonly type: string;
  /** Makes one attempt. Failures of the receiver or of the way to it are results, not errors. */
  deliver(message: ChannelMessage, options: { signal: AbortSignal }): Promise<DeliveryResult>;
}
