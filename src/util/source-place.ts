/** A place in the source: file without folders, and line. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
}

/**
 * The place that calls this, as far as the stack tells: in the code as it runs, so in the compiled file. With
 * `framesUp`, the place that called the caller, and so on.
 */
export function findSourcePlace(framesUp = 0): SourcePlace {
  const limit = Error.stackTraceLimit;
  // A few frames cost microseconds, the usual ten many more.
  Error.stackTraceLimit = 1 + framesUp;
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, findSourcePlace);
  Error.stackTraceLimit = limit;
  const place = /([^/\\(]+):(\d+):\d+\)?$/.exec(trace.stack ?? '');
  return place ? { file: place[1]!, line: Number(place[2]) } : { file: 'unknown', line: 1 };
}
