import { type EventObject, type KubeObject } from '#kube/columns/kube-object.js';
import { formatAge, parseTime } from '#kube/columns/human-age.js';
import { type AgentClient } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';
import { withKinds } from '../api/get-request.js';
import { cell, type TabWriter } from './tab-writer.js';

/** The events that the agent knows about the object; none if it cannot answer. */
export async function readEventsOf(
  client: AgentClient,
  { metadata = {} }: KubeObject,
): Promise<EventObject[]> {
  const { uid, namespace } = metadata;
  if (uid === undefined) return [];
  const path = namespace === undefined ? '/api/v1/events' : `/api/v1/namespaces/${namespace}/events`;
  try {
    return withKinds(await client.get(path, { fieldSelector: `involvedObject.uid=${uid}` }));
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** The table of what happened to an object, oldest first. */
export function describeEvents(events: readonly EventObject[], nowMs: number, writer: TabWriter): void {
  if (events.length === 0) {
    writer.line(0, 'Events:\t<none>');
    return;
  }
  writer.flush();
  writer.line(0, 'Events:');
  writer.line(1, 'Type\tReason\tAge\tFrom\tMessage');
  writer.line(1, '----\t------\t----\t----\t-------');
  const sorted = [...events].sort((a, b) => timeOf(a) - timeOf(b));
  for (const event of sorted) {
    const {
      type = '',
      reason = '',
      message = '',
      source = {},
      reportingComponent = '',
      involvedObject = {},
    } = event;
    const from =
      source.component === undefined || source.component === '' ? reportingComponent : source.component;
    const { fieldPath = '' } = involvedObject;
    const words = `${fieldPath === '' ? '' : `${fieldPath}: `}${message.trim()}`;
    const cells = [type, reason, describeInterval(event, nowMs), from, words];
    writer.line(1, cells.map((text) => cell(text)).join('\t'));
  }
}

function describeInterval(event: EventObject, nowMs: number): string {
  const { eventTime, firstTimestamp, lastTimestamp, series, count = 1 } = event;
  const first = formatAge(eventTime ?? firstTimestamp, nowMs);
  if (series !== undefined) {
    return `${formatAge(series.lastObservedTime, nowMs)} (x${series.count ?? 0} over ${first})`;
  }
  return count > 1 ? `${formatAge(lastTimestamp, nowMs)} (x${count} over ${first})` : first;
}

function timeOf({ series, lastTimestamp, eventTime, firstTimestamp }: EventObject): number {
  return parseTime(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp) ?? 0;
}
