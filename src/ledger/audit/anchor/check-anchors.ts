import { hasLink, linkAt } from '../../journal/links.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { type Check, FAULTS_A_CHECK, type Fault } from '../verify/fault.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { isSignedBy, type NoteVerifier, type SignedNote } from './signed-note.ts';

/** The chain holds the link whose digest was once kept elsewhere: nothing up to it was rewritten since. */
export function expectHead(digest: string): Check {
  return (connection) => {
    if (hasLink(connection, digest)) return [];
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
    const faults: Fault[] = [];
    for (const note of notes) {
      const message = strangeNote(note, {
        id,
        verifier,
        digestAt: (seq) => linkAt(connection, seq)?.digest ?? undefined,
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
