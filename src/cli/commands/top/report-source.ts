import { Observer } from '#node';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';
import { type AgentClient } from '../../shared/api/agent-client.js';
import { failure } from '../../command-failure.js';

/** Where reports come from. */
export interface ReportSource extends AsyncDisposable {
  /** For the first row. */
  readonly title: string;
  /** The newest. Rejects with a sentence when there is none to be had. */
  read(signal: AbortSignal): Promise<PlegReport>;
}

/** The path of the report in an agent's API. */
const REPORT_PATH = '/debug/pleg';
const FIRST_LOOK_STEP_MS = 20;

/** Reports of a running agent, over its socket. */
export function agentReports(client: AgentClient): ReportSource {
  return {
    title: `agent at ${client.socketPath}`,
    read: async (signal) => {
      const { object } = await client.send('GET', REPORT_PATH, { signal });
      // An answer of its own kind, not an object of Kubernetes.
      const report = object as Partial<PlegReport>;
      if (isReport(report)) return report;
      throw failure(
        `the agent at ${client.socketPath} is of another version: its ${REPORT_PATH} is not understood`,
      );
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** What is shown of a report without a look whether it is there. */
function isReport(report: Partial<PlegReport>): report is PlegReport {
  const { atMs, health, relists, pods, events, stream, queues, inspections, eventLoop } = report;
  const parts = [health, relists, pods, events, stream, queues, inspections, eventLoop];
  const lists = [report.slowestPods, report.stuckPods, report.callsInFlight, relists?.history];
  return (
    typeof atMs === 'number' &&
    parts.every((part) => typeof part === 'object') &&
    lists.every((list) => Array.isArray(list))
  );
}

/** What {@link runtimeReports} needs. */
export interface RuntimeReportsOptions {
  /** Empty: the one that is found. */
  readonly runtimeEndpoint: string;
  /** How long the first look at it may take before it is reported as it is. */
  readonly firstLookMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Reports of an event generator of our own that looks at a runtime; it only reads. The first waits for its first look. */
export async function runtimeReports({
  runtimeEndpoint,
  firstLookMs,
  clock,
  signal,
}: RuntimeReportsOptions): Promise<ReportSource> {
  const observer = await Observer.connect({ runtimeEndpoint, mode: 'generic' }, { clock }, signal);
  const ending = new AbortController();
  const reporter = observer.startReport();
  const running = observer.run(ending.signal);
  const startedMs = clock.monotonicMs();
  let failed: { readonly error: unknown } | undefined;
  running.catch((error: unknown) => (failed = { error }));
  const { runtimeName, runtimeVersion, endpoint } = observer;
  return {
    title: `${runtimeName} ${runtimeVersion} at ${endpoint}`,
    read: async (readSignal) => {
      for (;;) {
        if (failed !== undefined) throw failed.error;
        const report = reporter.read();
        const isFirst = report.relists.history.length === 0;
        if (!isFirst || clock.monotonicMs() - startedMs >= firstLookMs) return report;
        await clock.sleep(FIRST_LOOK_STEP_MS, readSignal);
      }
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running.catch(() => undefined);
      reporter[Symbol.dispose]();
      observer.close();
    },
  };
}
