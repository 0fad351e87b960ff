/** What a kubelet itself shows of an incident. */
export interface KubeletTraces {
  /** Errors of its log that were not there before, the most frequent first, with how often each came. */
  readonly log: readonly string[];
  /** What changed in its metrics. */
  readonly metrics: readonly string[];
}

/** Lines of klog of a warning or an error: `E1129 17:02:37.123456    123 kubelet.go:2412] "message" err="…"`. */
const LOG_LINE = /^[EWF]\d{4} [\d:.]+ +\d+ [^\]]+\] (.*)$/;
/** About cgroups that the doctor makes to find out what is counted. */
const OF_THE_DOCTOR = 'Error while processing event';
const MAX_LOG = 2;
const MAX_LENGTH = 150;
const ERRORS = 'kubelet_runtime_operations_errors_total';
const LAST_SEEN = 'kubelet_pleg_last_seen_seconds';
/** A relist begins each second. */
const LATE_S = 10;

/** What the log had before, and what its metrics were. */
export interface KubeletBefore {
  readonly log: string;
  readonly metrics: string;
}

/** Compares what a kubelet wrote and counted before an incident and during it. Pure. `atMs` is when the metrics were read. */
export function findTraces(before: KubeletBefore, during: KubeletBefore, atMs: number): KubeletTraces {
  return { log: findLines(before.log, during.log), metrics: findChanges(before.metrics, during, atMs) };
}

function findLines(before: string, during: string): string[] {
  const usual = new Set(messagesOf(before).map(toKind));
  const counts = new Map<string, { message: string; count: number }>();
  // It is one file, which grows.
  for (const message of messagesOf(during.slice(before.length))) {
    const kind = toKind(message);
    if (usual.has(kind) || message.startsWith(OF_THE_DOCTOR)) continue;
    const seen = counts.get(kind);
    counts.set(kind, { message: seen?.message ?? message, count: (seen?.count ?? 0) + 1 });
  }
  return [...counts.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_LOG)
    .map(({ message, count }) => `${count > 1 ? `${count}× ` : ''}${shorten(message)}`);
}

function messagesOf(log: string): string[] {
  return log.split('\n').flatMap((line) => LOG_LINE.exec(line)?.[1] ?? []);
}

/** Messages that differ in ids, names and numbers alone are of one kind. */
function toKind(message: string): string {
  return message
    .replaceAll(/[0-9a-f]{8,}(?:-[0-9a-f]{4,})*/g, '#')
    .replaceAll(/\d+/g, '#')
    .replaceAll(/pod(?:UID)?="[^"]*"/g, 'pod=#')
    .replaceAll(/default\/[\w-]+/g, '#');
}

function shorten(message: string): string {
  const words = message
    .replaceAll(/[0-9a-f]{32,}/g, (id) => `${id.slice(0, 12)}…`)
    .replaceAll(/\/tmp\/[^\s"']*/g, '…');
  return words.length > MAX_LENGTH ? `${words.slice(0, MAX_LENGTH)}…` : words;
}

function findChanges(before: string, { metrics }: KubeletBefore, atMs: number): string[] {
  if (metrics === '') return ['its metrics are not answered'];
  const changes = [...errorsOf(metrics)].flatMap(([operation, count]) => {
    const more = count - (errorsOf(before).get(operation) ?? 0);
    return more > 0 ? [`${ERRORS}{operation_type="${operation}"} +${more}`] : [];
  });
  const seenS = Number(new RegExp(`^${LAST_SEEN} (\\S+)$`, 'm').exec(metrics)?.[1] ?? NaN);
  const agoS = Math.round(atMs / 1_000 - seenS);
  return [...(agoS >= LATE_S ? [`${LAST_SEEN} ${agoS} s ago`] : []), ...changes];
}

function errorsOf(metrics: string): Map<string, number> {
  const lines = metrics.matchAll(new RegExp(`^${ERRORS}\\{operation_type="(\\w+)"\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, operation, count]) => [operation!, Number(count)]));
}
