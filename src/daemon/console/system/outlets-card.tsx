import { pauseOutlet, resumeOutlet } from '../../../operations/outlets/pause-outlet.ts';
import { startOutlet } from '../../../operations/outlets/start-outlet.ts';
import { describeOutletStatus, type OutletStatus } from '../../../outlets/outlet-status.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import { ChangeForm, draftValue, MAX_NOTE_CHARACTERS } from '../shell/form.tsx';
import { Badge, Card, Field, Select, Table, type Tone } from '../shell/parts.tsx';
import { may, type Visit } from '../shell/visit.ts';
import { startPath } from './start-outlet-page.tsx';

const OUTLET_STATES: Readonly<Record<OutletStatus['state'], { tone: Tone; label: string }>> = {
  sending: { tone: 'good', label: 'sending' },
  paused: { tone: 'odd', label: 'paused' },
  not_started: { tone: 'quiet', label: 'not started' },
  differs: { tone: 'bad', label: 'stopped' },
};

/** Returns the name of the form that pauses or resumes this outlet. */
export function outletForm(name: string): string {
  return `outlet ${name}`;
}

/**
 * The card with the outlets (billing systems that receive usage), with forms that pause or resume an outlet, and a link
 * to the page that starts one.
 */
export function OutletsCard({ visit, outlets }: { visit: Visit; outlets: readonly OutletStatus[] }) {
  if (outlets.length === 0) return null;
  const heads = [{ label: 'Outlet' }, { label: 'State' }, { label: 'Waiting', number: true }];
  return (
    <Card title="Outlets" note="billing systems that receive usage">
      <Table label="Outlets" heads={heads} stacked>
        {outlets.map((outlet) => (
          <OutletLine key={outlet.name} visit={visit} outlet={outlet} />
        ))}
      </Table>
    </Card>
  );
}

function OutletLine({ visit, outlet }: { visit: Visit; outlet: OutletStatus }) {
  const { name, type, state, reason, waiting } = outlet;
  return (
    <tr>
      <th scope="row">
        {name}
        <small>{type}</small>
      </th>
      <td>
        <Badge tone={OUTLET_STATES[state].tone}>{OUTLET_STATES[state].label}</Badge>
        <small>{state === 'paused' ? reason : describeOutletStatus(outlet)}</small>
        {state === 'paused' && may(visit, resumeOutlet) ? <ResumeForm visit={visit} name={name} /> : null}
        {state === 'not_started' && may(visit, startOutlet) ? (
          <p>
            <a href={startPath(name)}>Start {name}</a>
          </p>
        ) : null}
        {state === 'sending' && may(visit, pauseOutlet) ? <PauseForm visit={visit} name={name} /> : null}
      </td>
      <td class="number" data-label="Waiting">
        {formatInteger(waiting)}
      </td>
    </tr>
  );
}

function ResumeForm({ visit, name }: { visit: Visit; name: string }) {
  const form = outletForm(name);
  return (
    <details open>
      <summary class="small">Resume</summary>
      <ChangeForm
        visit={visit}
        form={form}
        action="/system/resume-outlet"
        submit="Resume sending"
        submitName={`Resume sending to ${name}`}
      >
        <input type="hidden" name="outlet" value={name} />
        <Select
          name="perhaps"
          label="Events of unknown delivery"
          value={draftValue(visit, form, 'perhaps') ?? 'ask'}
          choices={[
            { value: 'ask', label: 'Ask the receiver' },
            { value: 'taken', label: 'They have arrived' },
            { value: 'resend', label: 'Send them again' },
          ]}
        />
      </ChangeForm>
    </details>
  );
}

function PauseForm({ visit, name }: { visit: Visit; name: string }) {
  const form = outletForm(name);
  return (
    <details open={visit.draft?.form === form}>
      <summary class="small">Pause</summary>
      <ChangeForm
        visit={visit}
        form={form}
        action="/system/pause-outlet"
        submit="Pause sending"
        submitName={`Pause sending to ${name}`}
      >
        <input type="hidden" name="outlet" value={name} />
        <Field
          name="note"
          label="Reason"
          value={draftValue(visit, form, 'note')}
          required
          maxLength={MAX_NOTE_CHARACTERS}
        />
      </ChangeForm>
    </details>
  );
}
