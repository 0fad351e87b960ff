import { type JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Measurements } from '#kube/node/recorded-timeline.js';
import { Chart } from '../chart.js';
import { formatSpan } from '../time-text.js';

type MeasuredChart = Measurements['charts'][number];

const COLOURS = ['info', 'pull'];
const FORMATS: Readonly<Record<MeasuredChart['unit'], (value: number) => string>> = {
  ms: formatSpan,
  percent: (value) => `${Math.round(value)}%`,
  count: (value) => String(Math.round(value * 10) / 10),
};

/** What was measured during an incident, as charts. */
export function MeasurementsView({ measured }: { measured: Measurements }): JSX.Element {
  return (
    <section class="view">
      <h1>What was measured</h1>
      <div class="charts">
        {measured.charts.map((chart) => (
          <MeasuredValues key={chart.title} chart={chart} timesMs={measured.timesMs} />
        ))}
      </div>
    </section>
  );
}

interface MeasuredValuesProps {
  readonly chart: MeasuredChart;
  readonly timesMs: readonly number[];
}

function MeasuredValues({ chart: { title, unit, lines }, timesMs }: MeasuredValuesProps): JSX.Element {
  const data = useMemo(
    () => [timesMs.map((ms) => ms / 1_000), ...lines.map(({ values }) => values)],
    [timesMs, lines],
  );
  const series = lines.map(({ label }, at) => ({ label, colour: COLOURS[at % COLOURS.length]! }));
  return <Chart title={title} data={data} series={series} format={FORMATS[unit]} summary="largest" />;
}
