import { chargeReopened, commitClose } from '../../ledger/journal/charges/commit-close.ts';
import { forgetNames } from '../../ledger/journal/charges/forget-names.ts';
import { importNames } from '../../ledger/journal/charges/names.ts';
import { setCards } from '../../ledger/journal/charges/set-cards.ts';
import {
  type CloseRequest,
  closePeriod,
  type PeriodEvent,
  type ReopenRequest,
  reopenPeriod,
} from '../../ledger/journal/close/close-period.ts';
import { type Desk, type Noted, noteHead, onConnection } from './desk.ts';

/** What finance does: closes, rate cards, names. */
export const closeCommands = {
  closePeriod: (desk: Desk, request: CloseRequest): PeriodEvent & Noted =>
    noted(
      desk,
      closePeriod(desk.connection, request, (period) => commitClose(period, desk.claimant.randomness)),
      request.nowMs,
    ),

  reopenPeriod: (desk: Desk, request: ReopenRequest): PeriodEvent & Noted =>
    noted(desk, reopenPeriod(desk.connection, request, chargeReopened), request.nowMs),

  /** Puts rate cards into force and prices the periods that are not closed by them. */
  setCards: onConnection(setCards),
  importNames: onConnection(importNames),
  forgetNames: onConnection(forgetNames),
};

function noted(desk: Desk, event: PeriodEvent, nowMs: number): PeriodEvent & Noted {
  return { ...event, ...noteHead(desk, event.eventSeq, event.digest, nowMs) };
}
