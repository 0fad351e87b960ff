import { type AgentClient, type Query } from './agent-client.js';
import { ApiError, type StatusBody } from './api-status.js';
import { type KubeObject } from '#kube/columns/kube-object.js';

/** A change that a watch reports. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/**
 * The changes of a collection from now on, or from the resource version of the query on, until the agent ends the
 * watch. Throws an ApiError when it refuses.
 */
export async function* watchObjects(
  client: AgentClient,
  path: string,
  { query, signal }: { readonly query: Query; readonly signal?: AbortSignal },
): AsyncGenerator<WatchEvent, void, undefined> {
  const answer = await client.open('GET', path, {
    query: { ...query, watch: true },
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    for await (const line of readLines(client.read(answer))) {
      const event = JSON.parse(line) as { readonly type: string; readonly object: KubeObject };
      if (event.type === 'ERROR') {
        const status = event.object as StatusBody;
        throw new ApiError(status.code ?? 500, status);
      }
      if (event.type !== 'BOOKMARK') yield event as WatchEvent;
    }
  } finally {
    answer.destroy();
  }
}

/** The lines of a stream, without their ends; what has no end is no line. */
export async function* readLines(stream: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  let rest: Buffer[] = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      rest.push(chunk.subarray(from, end));
      const line = Buffer.concat(rest).toString();
      rest = [];
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
}
