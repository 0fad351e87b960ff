import { type KubeObject } from '#kube/columns/kube-object.js';
import { type Clock } from '#base/time/clock.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { readTableForm } from './read-table-form.js';
import { TableWriter } from './table-writer.js';

/** Writes Tables for who asks for them; undefined for who wants objects. */
export function tableWriterFor(
  request: Pick<ApiRequest, 'headers' | 'query'>,
  resource: string,
  clock: Pick<Clock, 'now'>,
): TableWriter | undefined {
  const form = readTableForm(request);
  return form === undefined ? undefined : new TableWriter({ resource, form, clock });
}

/** The same handler, which answers a Table to who asks for one; `handler` answers objects, or lists of them. */
export function withTables(resource: string, clock: Pick<Clock, 'now'>, handler: ApiHandler): ApiHandler {
  return async (request) => {
    const writer = tableWriterFor(request, resource, clock);
    const answer = await handler(request);
    if (writer === undefined || answer.kind !== 'json') return answer;
    const { items, metadata = {}, ...rest } = answer.body as KubeObject;
    const objects = items ?? [{ ...rest, metadata }];
    const { resourceVersion } = metadata;
    return streamOf(writer.list(objects, resourceVersion === undefined ? {} : { resourceVersion }));
  };
}

/** An answer in JSON that is written while the client takes it, so that a long list keeps nobody waiting. */
export function streamOf(texts: Iterable<string>): ApiAnswer {
  return { kind: 'stream', contentType: 'application/json', pieces: pieces() };

  // eslint-disable-next-line @typescript-eslint/require-await -- a stream of answers is asynchronous; this one never waits
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    yield* texts;
    yield '\n';
  }
}
