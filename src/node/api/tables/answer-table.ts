import { type KubeObject } from '#kube/columns/kube-object.js';
import { type Clock } from '#base/time/clock.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { readTableForm } from './read-table-form.js';
import { TableWriter } from './table-writer.js';

/** Writes Tables for clients that request them; undefined for those that want objects. */
export function tableWriterFor(
  request: Pick<ApiRequest, 'headers' | 'query'>,
  resource: string,
  clock: Pick<Clock, 'now'>,
): TableWriter | undefined {
  const form = readTableForm(request);
  return form === undefined ? undefined : new TableWriter({ resource, form, clock });
}

/** Wraps a handler of objects or lists so that it answers with a Table on request. */
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

/** A JSON answer that is written while the client reads it, so that a long list blocks nobody. */
export function streamOf(texts: Iterable<string>): ApiAnswer {
  return { kind: 'stream', contentType: 'application/json', pieces: pieces() };

  // oxlint-disable-next-line typescript/require-await -- a stream of answers is asynchronous; this one never waits
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    yield* texts;
    yield '\n';
  }
}
