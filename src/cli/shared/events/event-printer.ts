import { stringify } from 'yaml';
import { type PodLifecycleEvent } from '#node';
import { toEventRecord } from './event-json.js';
import { SourcePlaces } from '#base/log/source-places.js';
import { formatEventText } from './event-text.js';

/** The forms that events are printed in. */
export const OUTPUT_FORMATS = ['text', 'wide', 'json', 'yaml'] as const;

/** One of {@link OUTPUT_FORMATS}. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * Returns what turns an event into the lines to print, without the last line break.
 *
 * text and wide: one klog line; json: one object on one line; yaml: one document.
 */
export function createEventPrinter(format: OutputFormat, pid: number): (event: PodLifecycleEvent) => string {
  switch (format) {
    case 'text':
    case 'wide': {
      const options = { pid, places: new SourcePlaces(), wide: format === 'wide' };
      return (event) => formatEventText(event, options);
    }
    case 'json':
      return (event) => JSON.stringify(toEventRecord(event));
    case 'yaml':
      return (event) => `---\n${stringify(toEventRecord(event)).trimEnd()}`;
  }
}
