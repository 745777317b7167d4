import { alertFacts } from '../../../alerts/messages/fact-list.ts';
import type { AlertMoments } from '../../../alerts/queries/alert-moments.ts';
import type { AlertRecord } from '../../../alerts/queries/alert-record.ts';
import { MAX_NAME_CHARACTERS } from '../../../core/text/person-name.ts';
import { formatLocalTime } from '../../../core/time-zone.ts';
import { MAX_NOTE_CHARACTERS } from '../shell/form.tsx';
import { Document } from '../shell/layout.tsx';
import { Card, Field } from '../shell/parts.tsx';

export interface LinkedAlert {
  record: AlertRecord;
  /** The message that a notification about the alert would contain now. */
  notification: AlertMoments['now']['notification'];
}

/** The page behind the signed link of a message: the alerts that are still open, and a form that acknowledges them. */
export function AcknowledgePage({
  alerts,
  timezone,
  fault,
}: {
  alerts: readonly LinkedAlert[];
  timezone: string;
  fault: string | null;
}) {
  const [first] = alerts;
  const isSingle = alerts.length === 1;
  const title = isSingle && first !== undefined ? first.notification.title : `${alerts.length} alerts`;
  return (
    <Document title={title}>
      <main class="linked">
        <div class="head">
          <h1>{title}</h1>
        </div>
        {alerts.map(({ record, notification }) => (
          <Card key={record.alert.alert_id} title={isSingle ? 'Figures' : notification.title}>
            <div class="inside">
              {notification.lines.map((line) => (
                <p key={line}>{line}</p>
              ))}
              {isSingle ? <AlertFacts notification={notification} /> : null}
              <Acknowledged record={record} timezone={timezone} />
            </div>
          </Card>
        ))}
        {alerts.some(({ record }) => record.alert.state === 'firing') ? <AcknowledgeForm fault={fault} /> : null}
      </main>
    </Document>
  );
}

function AlertFacts({ notification }: Pick<LinkedAlert, 'notification'>) {
  return (
    <dl class="facts">
      {alertFacts(notification).map(({ label, value }) => (
        <>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}

function Acknowledged({ record, timezone }: { record: AlertRecord; timezone: string }) {
  const seen = record.transitions.findLast(({ change }) => change === 'acknowledged');
  if (record.alert.state !== 'acknowledged' || seen === undefined) return null;
  return (
    <p class="quiet">
      Acknowledged by {seen.actor}, {formatLocalTime(seen.at, timezone)}.
    </p>
  );
}

function AcknowledgeForm({ fault }: { fault: string | null }) {
  return (
    <form method="post" class="card fields">
      {fault === null ? null : (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <Field name="name" label="Your name" required maxLength={MAX_NAME_CHARACTERS} autocomplete="name" />
      <Field name="note" label="Note" maxLength={MAX_NOTE_CHARACTERS} />
      <button class="main" type="submit">
        Acknowledge
      </button>
    </form>
  );
}

/** The page for a link that cannot acknowledge an alert: the reason, and what to do. */
export function DeadLinkPage({ title, children }: { title: string; children: string }) {
  return (
    <Document title={title}>
      <main class="sign-in">
        <div class="card">
          <h1>{title}</h1>
          <p>{children}</p>
          <p>
            <a href="/alerts">Alerts</a>
          </p>
        </div>
      </main>
    </Document>
  );
}
