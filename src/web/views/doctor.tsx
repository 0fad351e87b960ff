import { type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type RecordedFinding } from '#kube/node/recorded-timeline.js';
import { type HistoryFeed } from '../data/history-feed.js';
import { usePolled } from '../data/polled.js';
import { type Session } from '../data/session.js';
import { useNow } from '../data/store.js';
import { formatAge, formatMoment, formatSpan } from '../time-text.js';

interface Diagnosis {
  readonly time: string;
  readonly findings: readonly RecordedFinding[];
}

interface Incident {
  readonly id: number;
  readonly state: string;
  readonly beganAt: string;
  readonly endedAt?: string;
  /** Of one that was cut off: until when its observer watched. */
  readonly lastSeenAt?: string;
  readonly findings: readonly RecordedFinding[];
  readonly gaps?: readonly string[];
}

/** The incidents of an observer. */
export interface Incidents {
  readonly items?: readonly Incident[];
}

interface DoctorViewProps {
  readonly session: Session;
  readonly history: HistoryFeed;
  /** Of the incident that is shown. */
  readonly number: string | undefined;
}

/** How often incidents are asked for. */
export const INCIDENTS_MS = 10_000;

/** What is wrong with the node, and what was. */
export function DoctorView({ session, number }: DoctorViewProps): JSX.Element {
  const now = useNow(5_000);
  const incidents = usePolled<Incidents>(session, '/agent/incidents', INCIDENTS_MS);
  const all = [...(incidents.value?.items ?? [])].reverse();
  const shown = all.find(({ id }) => String(id) === number);
  if (number !== undefined && shown !== undefined) return <IncidentView incident={shown} />;
  return (
    <section class="view">
      <Examination session={session} />
      <h2>Incidents</h2>
      {incidents.isAbsent ? (
        <p class="empty">
          Incidents are recorded by <code>podloop observe</code>, which also examines the node by itself. Its
          page shows them here.
        </p>
      ) : all.length === 0 ? (
        <p class="empty">
          {incidents.value === undefined
            ? 'Reading…'
            : 'There was no incident: nothing was found wrong with this node so far.'}
        </p>
      ) : (
        <ul class="incidents">
          {all.map((incident) => (
            <li key={incident.id}>
              <a href={`#/doctor/${incident.id}`}>
                <span class={`pill ${incident.state === 'open' ? 'bad' : 'quiet'}`}>{incident.state}</span>
                <b>#{incident.id}</b>
                <span class="words">{incident.findings[0]?.message ?? 'no finding'}</span>
                <span class="muted">
                  {formatMoment(Date.parse(incident.beganAt), now)} · {describeLength(incident, now)}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Examination({ session }: { session: Session }): JSX.Element {
  const [diagnosis, setDiagnosis] = useState<Diagnosis | undefined>();
  const [error, setError] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const examine = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      setDiagnosis(await session.json<Diagnosis>('/examination'));
    } catch (problem) {
      setError((problem as Error).message);
    }
    setBusy(false);
  };
  useEffect(() => void examine(), [session]);
  return (
    <>
      <div class="tools">
        <h1>Doctor</h1>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void examine()}>
          {isBusy ? 'Examining…' : 'Examine again'}
        </button>
        {diagnosis !== undefined && (
          <span class="muted">as of {formatMoment(Date.parse(diagnosis.time))}</span>
        )}
      </div>
      <div role="status" aria-busy={isBusy}>
        {error !== undefined && <p class="notice bad">{error}</p>}
        {diagnosis === undefined && error === undefined && (
          <p class="empty">
            The doctor examines the runtime, its processes and the machine. This takes a few seconds.
          </p>
        )}
        {diagnosis?.findings.length === 0 && (
          <p class="all-well">
            <i class="dot ok" aria-hidden="true" /> Nothing is wrong with this node.
          </p>
        )}
        {diagnosis?.findings.map((finding, at) => (
          <FindingCard key={at} finding={finding} />
        ))}
      </div>
    </>
  );
}

/** Something that is, or was, wrong. */
export function FindingCard({ finding }: { finding: RecordedFinding }): JSX.Element {
  const { code, severity, message, evidence = [], remedy, follows = [], beganAt, endedAt, ending } = finding;
  const tone = severity === 'critical' ? 'bad' : severity === 'warning' ? 'warn' : 'info';
  return (
    <article class={`finding ${tone}`}>
      <header>
        <span class={`pill ${tone}`}>{severity}</span>
        <code>{code}</code>
        {beganAt !== undefined && (
          <span class="muted">
            {formatMoment(Date.parse(beganAt))}
            {endedAt !== undefined && ` – ${formatMoment(Date.parse(endedAt))}`}
          </span>
        )}
      </header>
      <h2>{message}</h2>
      {evidence.length > 0 && (
        <ul class="evidence">
          {evidence.map((line, at) => (
            <li key={at}>{line}</li>
          ))}
        </ul>
      )}
      {remedy !== undefined && remedy !== '' && (
        <p class="remedy">
          <b>What to do:</b> {remedy}
        </p>
      )}
      {ending !== undefined && (
        <p>
          <b>What ended it:</b> {ending}
        </p>
      )}
      {follows.length > 0 && (
        <ul class="evidence">
          {follows.map((each, at) => (
            <li key={at}>{typeof each === 'string' ? each : `${each.code}: ${each.message}`}</li>
          ))}
        </ul>
      )}
    </article>
  );
}

/** One that was cut off lasted at least until its observer ended, and does not last now. */
function describeLength({ beganAt, endedAt, lastSeenAt }: Incident, now: number): string {
  const until = endedAt ?? lastSeenAt;
  if (until === undefined) return `for ${formatAge(beganAt, now)}`;
  const length = formatSpan(Date.parse(until) - Date.parse(beganAt));
  return endedAt === undefined ? `at least ${length}` : length;
}

function IncidentView({ incident }: { incident: Incident }): JSX.Element {
  const { id, state, beganAt, endedAt, lastSeenAt, findings, gaps = [] } = incident;
  const began = Date.parse(beganAt);
  const until = endedAt ?? lastSeenAt;
  return (
    <section class="view">
      <p class="crumbs">
        <a href="#/doctor">Doctor</a> / incidents
      </p>
      <header class="pod-head">
        <h1>Incident {id}</h1>
        <span class={`pill ${state === 'open' ? 'bad' : 'quiet'}`}>{state}</span>
        <span class="muted">
          {formatMoment(began)} – {until === undefined ? 'now' : formatMoment(Date.parse(until))},{' '}
          {describeLength(incident, Date.now())}
        </span>
      </header>
      {findings.map((finding, at) => (
        <FindingCard key={at} finding={finding} />
      ))}
      {gaps.map((gap) => (
        <p key={gap} class="notice warn">
          {gap}
        </p>
      ))}
      <p class="muted">
        Its calls as a recording:{' '}
        <code>
          podloop incident export {id} -f incident-{id}.plrec
        </code>
      </p>
    </section>
  );
}
