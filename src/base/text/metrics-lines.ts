/**
 * Writes Prometheus' text format, version 0.0.4: heads, labels and numbers.
 *
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * @module
 */

/** The head of a metric, before its samples. */
export interface MetricHead {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** The two lines of a head. */
export function writeHead({ name, type, help }: MetricHead): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
}

/**
 * Labels as written between the braces: `a="1",b="2"`; empty if there are none. Labels without a value are
 * omitted.
 */
export function writeLabels(labels: Readonly<Record<string, string | number | undefined>>): string {
  let text = '';
  for (const name in labels) {
    const value = labels[name];
    if (value !== undefined) text += `${text === '' ? '' : ','}${name}="${escapeLabel(String(value))}"`;
  }
  return text;
}

/** The value of a sample. */
export function writeNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

const TO_ESCAPE = /[\\"\n]/;

function escapeLabel(text: string): string {
  if (!TO_ESCAPE.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
