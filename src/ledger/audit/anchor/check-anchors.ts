import { ledgerId } from '../../store/schema/identity.ts';
import { type Check, FAULTS_A_CHECK, type Fault } from '../verify/fault.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { isSignedBy, type NoteVerifier, type SignedNote } from './signed-note.ts';

/** The chain holds the link whose digest was once kept elsewhere: nothing up to it was rewritten since. */
export function expectHead(digest: string): Check {
  return (connection) => {
    const link = connection
      .prepare(
        'SELECT applied_seq FROM runs WHERE digest = ? UNION ALL SELECT event_seq FROM period_events WHERE digest = ?',
      )
      .get(digest, digest);
    if (link !== undefined) return [];
    return [
      fault(
        `no link of the chain has the digest ${digest}: it was cut off, or rewritten from some link up to that one on`,
      ),
    ];
  };
}

/** Each checkpoint is signed by that key, is of this ledger, and says what the chain holds at its position. */
export function expectCheckpoints(notes: readonly SignedNote[], verifier: NoteVerifier | null): Check {
  return (connection) => {
    const id = ledgerId(connection);
    const digestAt = connection
      .prepare(
        'SELECT digest FROM runs WHERE applied_seq = @seq UNION ALL SELECT digest FROM period_events WHERE event_seq = @seq',
      )
      .pluck();
    const faults: Fault[] = [];
    for (const note of notes) {
      const message = strangeNote(note, {
        id,
        verifier,
        digestAt: (seq) => digestAt.get({ seq }) as string | undefined,
      });
      if (message !== null && faults.push(fault(message)) === FAULTS_A_CHECK) break;
    }
    return faults;
  };
}

interface Known {
  id: string;
  verifier: NoteVerifier | null;
  digestAt: (seq: number) => string | undefined;
}

function strangeNote(note: SignedNote, { id, verifier, digestAt }: Known): string | null {
  const checkpoint = parseCheckpoint(note.text);
  if (checkpoint === null) return `what begins with ${JSON.stringify(note.text.slice(0, 60))} is no checkpoint`;
  const { seq, digest, ledgerId: origin, at } = checkpoint;
  const which = `the checkpoint of link ${seq}${at === '' ? '' : ` (${at})`}`;
  if (origin !== id) return `${which} is of another ledger, ${origin}`;
  if (verifier !== null && !isSignedBy(note, verifier)) return `${which} is not signed by ${verifier.name}`;
  const found = digestAt(seq);
  if (found === digest) return null;
  if (found === undefined) return `${which} lies behind the end of the chain: links were cut off`;
  return `${which} says ${digest}, the chain holds ${found}: history was rewritten`;
}

function fault(message: string): Fault {
  return { check: 'anchor', runId: null, entryId: null, message };
}
