import { type JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { Chart } from '../chart.js';
import { usePolled } from '../data/polled.js';
import { type Session } from '../data/session.js';
import { podPath } from '../route.js';
import { formatMoment, formatSpan } from '../time-text.js';
import { Card, Fact } from './card.js';

const REPORT_MS = 2_000;
const SHOWN = 15;
const RELISTS = [{ label: 'last', colour: 'ok' }];

/** The event generator: relists, period, stream, and who is slow or stuck. */
export function GeneratorView({ session }: { session: Session }): JSX.Element {
  // An agent of another version may leave parts out.
  const { value: report, error } = usePolled<Partial<PlegReport>>(session, '/agent/debug/pleg', REPORT_MS);
  const history = report?.relists?.history;
  const bars = useMemo(
    () => [
      (history ?? []).map(({ startedAtMs }) => startedAtMs / 1_000),
      (history ?? []).map(({ durationMs }) => durationMs),
    ],
    [history],
  );
  if (report === undefined)
    return <p class="empty">{error === undefined ? 'Reading…' : `It cannot be read: ${error}`}</p>;
  const { health, relists, stream, pods, inspections, queues, eventLoop, mode, periodMs } = report;
  const { stuckPods = [], callsInFlight = [], slowestPods = [], operations = [] } = report;
  return (
    <section class="view">
      <div class="tools">
        <h1>Event generator</h1>
        {health !== undefined && (
          <span class={`pill ${health.healthy ? 'ok' : 'bad'}`}>
            <i class={`dot ${health.healthy ? 'ok' : 'bad'}`} aria-hidden="true" />
            {health.healthy ? 'Healthy' : 'Not healthy'}
          </span>
        )}
        {health?.message !== undefined && <span class="why">{health.message}</span>}
        {error !== undefined && <span class="why">{error}</span>}
      </div>
      <div class="charts">
        <Chart title="Relists" data={bars} series={RELISTS} format={(value) => formatSpan(value)} isBars />
      </div>
      <div class="cards">
        <Card title="Relists">
          <Fact name="Mode">{mode ?? '–'}</Fact>
          <Fact name="Period">{formatSpan(periodMs ?? NaN)}</Fact>
          <Fact name="Done">{relists?.count ?? '–'}</Fact>
          <Fact name="Last seen">
            {health?.lastSeenAgoMs === undefined ? '–' : `${formatSpan(health.lastSeenAgoMs)} ago`}
          </Fact>
          <Fact name="List under way">
            {relists?.listInFlightMs === undefined ? 'no' : `for ${formatSpan(relists.listInFlightMs)}`}
          </Fact>
        </Card>
        <Card title="Event stream">
          <Fact name="State">
            <i
              class={`dot ${stream?.state === 'up' ? 'ok' : stream?.state === 'off' ? 'quiet' : 'warn'}`}
              aria-hidden="true"
            />{' '}
            {stream?.state ?? '–'}
          </Fact>
          <Fact name="Received">{stream?.received ?? '–'}</Fact>
          <Fact name="Changes announced">{stream?.announced ?? '–'}</Fact>
          <Fact name="Changes missed">{stream?.missed ?? '–'}</Fact>
          {stream?.lastError !== undefined && <Fact name="Last error">{stream.lastError}</Fact>}
        </Card>
        <Card title="Pods and inspections">
          <Fact name="Pods">
            {pods?.count ?? '–'} <span class="muted">{pods?.running ?? '–'} running</span>
          </Fact>
          <Fact name="Inspections">
            {inspections?.count ?? '–'} <span class="muted">{inspections?.failed ?? '–'} failed</span>
          </Fact>
          <Fact name="Now">
            {inspections?.inFlight ?? '–'} under way, {inspections?.queued ?? '–'} waiting
          </Fact>
          <Fact name="Events folded">
            {queues?.subscriptions.reduce((sum, { folded }) => sum + folded, 0) ?? '–'}
          </Fact>
          <Fact name="Event loop p99">{formatSpan(eventLoop?.p99Ms ?? NaN)}</Fact>
        </Card>
      </div>
      {stuckPods.length > 0 && (
        <Table title="Stuck pods" heads={['Pod', 'State', 'For', 'Error']}>
          {stuckPods.map(({ pod, state, forMs, error: words }) => [
            <PodLink key="" {...pod} />,
            state,
            formatSpan(forMs),
            words ?? '',
          ])}
        </Table>
      )}
      {callsInFlight.length > 0 && (
        <Table title="Calls in flight" heads={['Call', 'Pod', 'For', 'Since']}>
          {callsInFlight
            .slice(0, SHOWN)
            .map(({ method, pod, ageMs, startedAtMs }) => [
              method,
              pod === undefined ? '' : <PodLink key="" {...pod} />,
              formatSpan(ageMs),
              formatMoment(startedAtMs),
            ])}
        </Table>
      )}
      <Table title="Slowest pods" heads={['Pod', 'Last', 'Longest', 'Inspections', 'Failed']}>
        {slowestPods
          .slice(0, SHOWN)
          .map(({ pod, lastMs, longestMs, count, failed }) => [
            <PodLink key="" {...pod} />,
            formatSpan(lastMs ?? NaN),
            formatSpan(longestMs),
            count,
            failed,
          ])}
      </Table>
      <Table title="Calls" heads={['Operation', 'Count', 'Failed', 'p50', 'p99', 'Longest']}>
        {operations.map(({ operation, count, failed, p50Ms, p99Ms, maxMs }) => [
          operation,
          count,
          failed,
          formatSpan(p50Ms),
          formatSpan(p99Ms),
          formatSpan(maxMs),
        ])}
      </Table>
    </section>
  );
}

function PodLink({ namespace, name }: { namespace: string; name: string }): JSX.Element {
  return (
    <>
      <a href={podPath(namespace, name)}>{name}</a> <span class="muted sub">{namespace}</span>
    </>
  );
}

interface TableProps {
  readonly title: string;
  readonly heads: readonly string[];
  readonly children: readonly (readonly (JSX.Element | string | number)[])[];
}

function Table({ title, heads, children }: TableProps): JSX.Element {
  return (
    <div class="table-box">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            {heads.map((head, at) => (
              <th key={head} scope="col" class={at === 0 ? '' : 'number'}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {children.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) =>
                column === 0 ? (
                  <th key={column} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={column} class="number">
                    {cell}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
