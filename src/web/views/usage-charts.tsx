import { type JSX } from 'preact';
import { Chart } from '../chart.js';
import { usePolled } from '../data/polled.js';
import { type Session } from '../data/session.js';
import { type Summary, SUMMARY, USAGE_MS, type UsagePoints, useUsagePoints } from '../data/usage.js';
import { formatBytes } from '../time-text.js';

const CPU = [{ label: 'used', colour: 'info' }];
const MEMORY = [{ label: 'working set', colour: 'pull' }];

/** `1.25 cores`, and of little as elsewhere: `12m`. */
function formatCores(cores: number): string {
  return cores > 0 && cores < 0.1 ? `${Math.round(cores * 1_000)}m` : `${cores.toFixed(2)} cores`;
}

/** CPU and memory over time. */
export function UsageCharts({ points }: { points: UsagePoints }): JSX.Element {
  return (
    <div class="charts">
      <Chart title="CPU" data={points.cpu} series={CPU} format={formatCores} />
      <Chart title="Memory" data={points.memory} series={MEMORY} format={formatBytes} />
    </div>
  );
}

interface PodUsageProps {
  readonly session: Session;
  readonly namespace: string;
  readonly name: string;
}

/** What a pod uses, since its page was opened; nothing where nobody measures it. */
export function PodUsage({ session, namespace, name }: PodUsageProps): JSX.Element | null {
  const { value } = usePolled<Summary>(session, SUMMARY, USAGE_MS);
  const usage = value?.pods?.find(({ podRef }) => podRef.namespace === namespace && podRef.name === name);
  const points = useUsagePoints(usage);
  return usage === undefined ? null : <UsageCharts points={points} />;
}
