/** One sample of a page in Prometheus' text format. */
export interface ExposedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A page in Prometheus' text format, read as strictly as a scraper reads it. */
export interface Exposition {
  readonly samples: readonly ExposedSample[];
  /** By family: counter, gauge, histogram … */
  readonly types: ReadonlyMap<string, string>;
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;

/** Reads a page; throws where Prometheus or promtool would complain. */
export function readExposition(text: string): Exposition {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end');
  const types = new Map<string, string>();
  const seen = new Set<string>();
  const closed = new Set<string>();
  const samples: ExposedSample[] = [];
  let current = '';
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, keyword, family = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (line.startsWith('#')) {
      if (family !== current) {
        if (closed.has(family)) throw new Error(`${family} is in two places`);
        closed.add(family);
        current = family;
      }
      if (keyword === 'TYPE') types.set(family, rest);
      if (keyword === 'HELP' && rest === '') throw new Error(`${family} has no help`);
      continue;
    }
    const [, name, labelText = '', valueText = ''] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`no sample: ${line}`);
    const base = types.get(current) === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name;
    if (base !== current) throw new Error(`${name} stands below ${current}`);
    const labels = readLabels(labelText, line);
    const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
    if (seen.has(key)) throw new Error(`twice: ${line}`);
    seen.add(key);
    samples.push({ name, labels, value: readValue(valueText) });
  }
  return { samples, types };
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let at = 0;
  while (at < text.length) {
    LABEL.lastIndex = at;
    const match = LABEL.exec(text);
    if (match === null) throw new Error(`bad labels: ${line}`);
    const [whole, name = '', value = ''] = match;
    if (name in labels) throw new Error(`a label twice: ${line}`);
    labels[name] = value.replaceAll(/\\(.)/g, (_all, char: string) => (char === 'n' ? '\n' : char));
    at += whole.length;
  }
  return labels;
}

function readValue(text: string): number {
  if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  const value = Number(text);
  if (Number.isNaN(value) && text !== 'NaN') throw new Error(`no number: ${text}`);
  return value;
}
